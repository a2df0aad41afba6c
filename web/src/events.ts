import { list } from "./list";
import type { Box, Lane } from "./result";

/** The boxes of a lane in columns, by start: a million of them stay small. */
export interface Columns {
  length: number;
  start: Float64Array;
  len: Float64Array;
  name: Uint32Array;
  launch: Uint32Array; // the call that launched it, from 1; a call has its own number; 0 for none
  count: Uint32Array; // events that it stands for, where several
  busy: Float64Array;
}

/** The events of the timeline, as the page carries them. */
export interface Events {
  names: string[];
  lanes: Columns[];
}

function columns(length: number): Columns {
  return { length, start: new Float64Array(length), len: new Float64Array(length), name: new Uint32Array(length), launch: new Uint32Array(length), count: new Uint32Array(length), busy: new Float64Array(length) };
}

/** The boxes of the overview, where the page carries no events. */
export function columnsOfBoxes(lane: Lane): Columns {
  const boxes: Box[] = list(lane.boxes);
  const c = columns(boxes.length);
  boxes.forEach((b, i) => {
    [c.start[i], c.len[i], c.name[i], c.count[i], c.busy[i]] = [b.s, b.l, b.n, b.c ?? 0, b.b ?? 0];
  });
  return c;
}

/** Reads the events, null where the page has none. What Go writes is in packEvents. */
export async function loadEvents(): Promise<Events | null> {
  const holder = document.getElementById("events");
  if (!holder?.textContent || typeof DecompressionStream === "undefined") return null;
  const packed = Uint8Array.from(atob(holder.textContent), (c) => c.charCodeAt(0));
  holder.remove();
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return decode(new Uint8Array(await new Response(stream).arrayBuffer()));
}

function decode(bytes: Uint8Array): Events {
  let at = bytes.indexOf(10) + 1;
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(0, at))) as { names: string[] | null; lanes: number[] | null };
  const next = () => {
    let low = 0;
    let factor = 1;
    for (;;) {
      const b = bytes[at++]!;
      low += (b & 127) * factor;
      if (b < 128) break;
      factor *= 128;
    }
    return low % 2 === 0 ? low / 2 : -(low + 1) / 2;
  };
  const lanes = list(head.lanes).map((n) => {
    const c = columns(n);
    for (let i = 0, sum = 0; i < n; i++) c.start[i] = sum += next();
    for (let i = 0; i < n; i++) c.len[i] = next();
    for (let i = 0; i < n; i++) c.name[i] = next();
    for (let i = 0, sum = 0; i < n; i++) c.launch[i] = sum += next();
    for (let i = 0; i < n; i++) c.count[i] = next();
    for (let i = 0; i < n; i++) c.busy[i] = next();
    return c;
  });
  return { names: list(head.names), lanes };
}
