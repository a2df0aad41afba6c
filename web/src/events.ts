import { Levels } from "./levels";
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
  shapes: (number[] | null)[]; // grid and block of what a name stands for, where it is a kernel
  of: Record<number, number>; // the lanes that lanes of layers are about
  lanes: Levels[];
}

function columns(length: number): Columns {
  return { length, start: new Float64Array(length), len: new Float64Array(length), name: new Uint32Array(length), launch: new Uint32Array(length), count: new Uint32Array(length), busy: new Float64Array(length) };
}

/** The boxes of the overview, where the page carries no events. */
export function levelsOf(lane: Lane, firstName = 0): Levels {
  const boxes: Box[] = list(lane.boxes);
  const c = columns(boxes.length);
  boxes.forEach((b, i) => {
    [c.start[i], c.len[i], c.name[i], c.count[i], c.busy[i]] = [b.s, b.l, b.n + firstName, b.c ?? 0, b.b ?? 0];
  });
  return new Levels(c);
}

/** Lets the browser handle input and draw, so that a page that loads answers. */
function pause(): Promise<void> {
  return new Promise((resume) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resume();
    port2.postMessage(0);
  });
}

const piece = 1 << 19; // characters of base64 decoded at once; a multiple of 4

/** Reads the events, null where the page has none. What Go writes is in packEvents. */
export async function loadEvents(): Promise<Events | null> {
  const holder = document.getElementById("events");
  if (!holder?.textContent || typeof DecompressionStream === "undefined") return null;
  const text = holder.textContent;
  holder.remove();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < text.length; at += piece) {
    parts.push(bytesOf(text.slice(at, at + piece)));
    await pause();
  }
  const stream = new Blob(parts).stream().pipeThrough(new DecompressionStream("gzip"));
  return decode(new Uint8Array(await new Response(stream).arrayBuffer()));
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

const batch = 1 << 17; // values decoded at once

async function decode(bytes: Uint8Array): Promise<Events> {
  let at = bytes.indexOf(10) + 1;
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(0, at))) as { names: string[] | null; shapes: (number[] | null)[] | null; of: Record<number, number> | null; lanes: number[] | null };
  const next = () => {
    let b = bytes[at++]!;
    if (b < 128) return b & 1 ? -(b + 1) >> 1 : b >> 1; // most are as short as that
    let low = b & 127;
    let factor = 128;
    do {
      b = bytes[at++]!;
      low += (b & 127) * factor;
      factor *= 128;
    } while (b >= 128);
    return low % 2 === 0 ? low / 2 : -(low + 1) / 2;
  };
  const read = async (column: Float64Array | Uint32Array, sums: boolean) => {
    let sum = 0;
    for (let i = 0; i < column.length; i++) {
      const value = next();
      column[i] = sums ? (sum += value) : value;
      if ((i + 1) % batch === 0) await pause();
    }
  };
  const lanes: Levels[] = [];
  for (const n of list(head.lanes)) {
    const c = columns(n);
    await read(c.start, true);
    await read(c.len, false);
    await read(c.name, false);
    await read(c.launch, true);
    await read(c.count, false);
    await read(c.busy, false);
    lanes.push(new Levels(c));
    await pause();
  }
  return { names: list(head.names), shapes: list(head.shapes), of: head.of ?? {}, lanes };
}
