import { fit, widthOf } from "./canvastext";
import { instant, time } from "./format";
import type { CounterLane } from "./result";
import { say } from "./words";

/** What a frame shows, and where: from and to in nanoseconds, the rest in pixels. */
export interface Frame {
  g: CanvasRenderingContext2D;
  from: number;
  to: number;
  width: number;
  height: number;
  gutter: number;
  ink: string;
  quiet: string;
  line: string;
  ground: string;
  edge: string;
}

export const axisHeight = 22;
const counterColour = "#4477aa";

/** A row of a sampled counter. */
export interface CounterRow {
  lane: CounterLane;
  values: number[];
  title?: string; // above it
  y: number;
  height: number;
}

export function xOf(f: Pick<Frame, "from" | "to" | "width" | "gutter">, t: number): number {
  return f.gutter + ((t - f.from) / (f.to - f.from)) * (f.width - f.gutter);
}

/** The axis counts from the first event. Far from that the first mark says where it is, the others how long after it. */
export function drawAxis(f: Frame): void {
  const { g } = f;
  const raw = (f.to - f.from) / Math.max(2, (f.width - f.gutter) / 110);
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= raw) ?? raw;
  g.fillStyle = f.quiet;
  g.strokeStyle = f.line;
  g.lineWidth = 1;
  g.beginPath();
  const first = Math.ceil(f.from / step) * step;
  const far = f.from > 2 * (f.to - f.from);
  for (let t = first; t <= f.to; t += step) {
    const x = Math.round(xOf(f, t)) + 0.5;
    g.moveTo(x, axisHeight - 6);
    g.lineTo(x, f.height);
    const text = far && t > first ? `+${instant(t - first, step, f.to - first)}` : instant(t, step, f.to);
    if (x + 3 + widthOf(g, text) <= f.width) g.fillText(text, x + 3, 8);
  }
  g.stroke();
}

/** A sampled counter as an area on a scale of 0 to 100 %: as high as its lane where the unit does all that it can. */
export function drawCounter(f: Frame, row: CounterRow): void {
  const { g } = f;
  const { lane, values, y, height } = row;
  g.fillStyle = f.ground;
  g.fillRect(f.gutter, y, f.width - f.gutter, height);
  const first = Math.max(0, Math.floor((f.from - lane.start_ns) / lane.bin_ns));
  const last = Math.min(values.length - 1, Math.floor((f.to - lane.start_ns) / lane.bin_ns));
  g.beginPath();
  for (let i = first; i <= last; i++) {
    if (values[i]! <= 0) continue;
    const x = Math.max(f.gutter, xOf(f, lane.start_ns + i * lane.bin_ns));
    const end = Math.min(f.width, xOf(f, lane.start_ns + (i + 1) * lane.bin_ns));
    const high = Math.min(1, values[i]! / 1000) * height;
    if (end > x) g.rect(x, y + height - high, end - x + 0.3, high);
  }
  g.fillStyle = counterColour;
  g.fill();
  drawScale(f, row);
}

/** The name of a counter and the ends of its scale, with a line at each and in the middle. */
function drawScale(f: Frame, row: CounterRow): void {
  const { g } = f;
  const { y, height } = row;
  g.strokeStyle = f.line;
  g.lineWidth = 1;
  g.beginPath();
  for (const at of [0, 0.5, 1]) {
    const line = Math.round(y + at * height) + 0.5;
    g.moveTo(at === 0.5 ? f.gutter : f.gutter - 4, line);
    g.lineTo(f.width, line);
  }
  g.stroke();
  g.fillStyle = f.quiet;
  const ends = [say("scale-full"), say("scale-none")];
  const width = Math.max(...ends.map((t) => widthOf(g, t)));
  ends.forEach((text, i) => g.fillText(text, f.gutter - 6 - widthOf(g, text), y + (i === 0 ? 5 : height - 4)));
  g.fillText(fit(g, row.lane.label, f.gutter - width - 22), 10, y + height / 2 + 0.5);
}

/** A measured stretch, with its length. */
export function drawMeasured(f: Frame, measured: { from: number; to: number }): void {
  const { g } = f;
  const [x, end] = [xOf(f, measured.from), xOf(f, measured.to)];
  g.globalAlpha = 0.14;
  g.fillStyle = f.ink;
  g.fillRect(x, axisHeight, end - x, f.height);
  g.globalAlpha = 1;
  const text = time(measured.to - measured.from);
  const width = widthOf(g, text);
  g.fillStyle = f.ground;
  g.fillRect((x + end - width) / 2 - 4, axisHeight - 2, width + 8, 18);
  g.fillStyle = f.ink;
  g.fillText(text, (x + end - width) / 2, axisHeight + 7);
}
