import { list } from "./list";
import type { Box, Lane, Overview } from "./result";
import { inkOn } from "./palette";
import { instant } from "./format";

export interface Hit {
  lane: number;
  box: number;
}

/** How boxes look. */
export interface Look {
  colour(lane: Lane, name: string): string;
  label(lane: Lane, box: Box, name: string): string;
}

interface Row {
  lane: Lane;
  boxes: Box[];
  longest: number;
  y: number;
  height: number;
}

interface Group {
  label: string;
  y: number;
}

const axisHeight = 22;
const groupHeight = 20;
const laneHeights: Record<string, number> = { nvtx: 20, kernel: 26, copy: 16, api: 14 };

/** Draws the overview on a canvas and knows what lies where. It owns no events. */
export class TimelineView {
  readonly span: number;
  /** Where the overview begins on the clock of nsys, which the axis shows. */
  readonly origin: number;
  height: number;
  from = 0;
  to: number;
  selected: Hit | null = null;
  /** Whether it is drawn for paper, which shows more dots than a screen. */
  paper = false;
  private readonly rows: Row[] = [];
  private readonly groups: Group[] = [];
  private readonly names: string[];
  private width = 0;
  private gutter = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    overview: Overview,
    private readonly look: Look,
  ) {
    this.names = list(overview.names);
    this.span = Math.max(1, overview.end_ns - overview.start_ns);
    this.origin = overview.start_ns;
    this.to = this.span;
    let y = axisHeight;
    let group: string | null = null;
    for (const lane of list(overview.lanes)) {
      if (lane.group !== group) {
        group = lane.group;
        this.groups.push({ label: group || "timeline", y });
        y += groupHeight;
      }
      const boxes = list(lane.boxes);
      const height = laneHeights[lane.kind] ?? 18;
      this.rows.push({ lane, boxes, longest: boxes.reduce((m, b) => Math.max(m, b.l), 0), y, height });
      y += height + 3;
    }
    this.height = y + 6;
  }

  get lanes(): number {
    return this.rows.length;
  }

  lane(i: number): Lane | undefined {
    return this.rows[i]?.lane;
  }

  boxAt(hit: Hit): Box | undefined {
    return this.rows[hit.lane]?.boxes[hit.box];
  }

  name(box: Box): string {
    return this.names[box.n] ?? "";
  }

  resize(): void {
    const width = this.canvas.clientWidth;
    if (width === 0) return;
    const ratio = this.ratio;
    this.width = width;
    this.gutter = width < 640 ? 88 : 150;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = `${this.height}px`;
    this.draw();
  }

  private get ratio(): number {
    return Math.max(devicePixelRatio || 1, this.paper ? 3 : 1);
  }

  /** Shows [from, to), kept inside the timeline and no shorter than 100 ns. */
  show(from: number, to: number): void {
    const length = Math.min(this.span, Math.max(to - from, Math.min(100, this.span)));
    const start = Math.max(0, Math.min(from, this.span - length));
    this.from = start;
    this.to = start + length;
    this.draw();
  }

  /** Zooms by factor (below 1: in) around x in pixels, or around the middle. */
  zoom(factor: number, x?: number): void {
    const centre = x === undefined ? (this.from + this.to) / 2 : this.timeAt(x);
    const length = (this.to - this.from) * factor;
    const left = (centre - this.from) / (this.to - this.from);
    this.show(centre - length * left, centre + length * (1 - left));
  }

  pan(share: number): void {
    const step = (this.to - this.from) * share;
    this.show(this.from + step, this.to + step);
  }

  timeAt(x: number): number {
    const inner = Math.max(1, this.width - this.gutter);
    return this.from + (Math.max(0, x - this.gutter) / inner) * (this.to - this.from);
  }

  private xOf(t: number): number {
    return this.gutter + ((t - this.from) / (this.to - this.from)) * (this.width - this.gutter);
  }

  hit(x: number, y: number): Hit | null {
    const lane = this.rows.findIndex((r) => y >= r.y - 1 && y <= r.y + r.height + 1);
    if (lane < 0 || x < this.gutter) return null;
    const row = this.rows[lane]!;
    const t = this.timeAt(x);
    const slack = ((this.to - this.from) / Math.max(1, this.width - this.gutter)) * 2;
    let best = -1;
    let nearest = slack;
    for (let i = this.firstIn(row, t - slack); i < row.boxes.length; i++) {
      const b = row.boxes[i]!;
      if (b.s > t + slack) break;
      const away = t < b.s ? b.s - t : t > b.s + b.l ? t - b.s - b.l : 0;
      if (away <= nearest) {
        nearest = away;
        best = i;
      }
    }
    return best < 0 ? null : { lane, box: best };
  }

  /** Selects a box of a lane without moving the view: the first that begins in view, else one that reaches into it, else the nearest. */
  enter(lane: number): Hit | null {
    const row = this.rows[lane];
    if (!row || row.boxes.length === 0) return null;
    const last = row.boxes.length - 1;
    const reaching = this.firstIn(row, this.from);
    let box = reaching;
    while (box <= last && row.boxes[box]!.s < this.from) box++;
    if (box > last || row.boxes[box]!.s > this.to) box = reaching;
    if (box > last || row.boxes[box]!.s > this.to) {
      const away = (i: number) => Math.max(row.boxes[i]!.s - this.to, this.from - row.boxes[i]!.s - row.boxes[i]!.l);
      box = Math.min(box, last);
      if (box > 0 && away(box - 1) < away(box)) box--;
    }
    this.selected = { lane, box };
    this.draw();
    return this.selected;
  }

  /** Selects the next or previous box of a lane. The view follows where nothing of it would be seen. */
  step(lane: number, by: number): Hit | null {
    const row = this.rows[lane];
    if (!row || row.boxes.length === 0) return null;
    if (this.selected?.lane !== lane) return this.enter(lane);
    const box = Math.max(0, Math.min(row.boxes.length - 1, this.selected.box + by));
    this.selected = { lane, box };
    const b = row.boxes[box]!;
    if (this.sees(b)) this.draw();
    else {
      const length = Math.max(this.to - this.from, b.l * 1.2);
      this.show(b.s + b.l / 2 - length / 2, b.s + b.l / 2 + length / 2);
    }
    return this.selected;
  }

  /** Whether some of a box is in view. */
  sees(b: Box): boolean {
    return b.s + b.l >= this.from && b.s <= this.to;
  }

  /** The first box that does not end before from. */
  private firstIn(row: Row, from: number): number {
    let lo = 0;
    let hi = row.boxes.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (row.boxes[mid]!.s + row.longest < from) lo = mid + 1;
      else hi = mid;
    }
    while (lo < row.boxes.length && row.boxes[lo]!.s + row.boxes[lo]!.l < from) lo++;
    return lo;
  }

  draw(): void {
    const g = this.canvas.getContext("2d");
    if (!g || this.width === 0) return;
    const style = getComputedStyle(this.canvas);
    const ink = style.getPropertyValue("--ink").trim();
    const quiet = style.getPropertyValue("--quiet").trim();
    const line = style.getPropertyValue("--line").trim();
    const ground = style.getPropertyValue("--lane").trim();
    const ratio = this.ratio;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, this.width, this.height);
    g.textBaseline = "middle";
    g.font = `11px ${style.fontFamily}`;

    this.drawAxis(g, quiet, line);
    for (const group of this.groups) {
      g.fillStyle = ink;
      g.font = `600 11px ${style.fontFamily}`;
      g.fillText(fit(g, group.label, this.width - 12), 6, group.y + groupHeight / 2 + 2);
    }
    g.font = `11px ${style.fontFamily}`;
    let label = "";
    this.rows.forEach((row, i) => {
      g.fillStyle = ground;
      g.fillRect(this.gutter, row.y, this.width - this.gutter, row.height);
      this.drawBoxes(g, row, i, ink, ground);
      // Deeper lanes of the same thread go without its name.
      if (row.lane.label !== label) this.drawLabel(g, row, quiet);
      label = row.lane.label;
    });
  }

  private drawAxis(g: CanvasRenderingContext2D, quiet: string, line: string): void {
    const room = this.width - this.gutter;
    const raw = (this.to - this.from) / Math.max(2, room / 110);
    const unit = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= raw) ?? raw;
    g.fillStyle = quiet;
    g.strokeStyle = line;
    g.lineWidth = 1;
    g.beginPath();
    for (let t = Math.ceil((this.from + this.origin) / step) * step - this.origin; t <= this.to; t += step) {
      const x = Math.round(this.xOf(t)) + 0.5;
      g.moveTo(x, axisHeight - 6);
      g.lineTo(x, this.height);
      const text = instant(t + this.origin, step, this.to + this.origin);
      if (x + 3 + g.measureText(text).width <= this.width) g.fillText(text, x + 3, 8);
    }
    g.stroke();
  }

  private drawLabel(g: CanvasRenderingContext2D, row: Row, quiet: string): void {
    const { label, group } = row.lane;
    g.fillStyle = quiet;
    g.fillText(fit(g, label.startsWith(`${group} `) ? label.slice(group.length + 1) : label, this.gutter - 16), 10, row.y + row.height / 2 + 0.5);
  }

  private drawBoxes(g: CanvasRenderingContext2D, row: Row, lane: number, ink: string, ground: string): void {
    let filled = -1; // pixel column that has a box of less than a pixel already
    for (let i = this.firstIn(row, this.from); i < row.boxes.length; i++) {
      const b = row.boxes[i]!;
      if (b.s > this.to) break;
      const x = Math.max(this.gutter, this.xOf(b.s));
      const end = Math.min(this.width, this.xOf(b.s + b.l));
      const width = end - x;
      if (width < 1) {
        const column = Math.floor(x);
        if (column === filled) continue;
        filled = column;
      }
      const name = this.name(b);
      const colour = this.look.colour(row.lane, name);
      const drawn = Math.max(width > 3 ? width - 0.6 : width, 0.8);
      if (b.c && b.c > 1 && b.l > 0) {
        const busy = Math.max(0.08, Math.min(1, (b.b ?? b.l) / b.l));
        g.fillStyle = colour;
        g.globalAlpha = 0.28;
        g.fillRect(x, row.y, drawn, row.height);
        g.globalAlpha = 1;
        g.fillRect(x, row.y + row.height * (1 - busy), drawn, row.height * busy);
      } else {
        g.fillStyle = colour;
        g.fillRect(x, row.y, drawn, row.height);
      }
      if (width > 34 && row.height >= 16) {
        const several = b.c && b.c > 1;
        const text = fit(g, several ? `${b.c} events` : this.look.label(row.lane, b, name), width - 8);
        const middle = row.y + row.height / 2 + 0.5;
        if (several) {
          // Such a box is filled in part, so the text brings its ground along.
          g.strokeStyle = ground;
          g.lineWidth = 3;
          g.lineJoin = "round";
          g.strokeText(text, x + 4, middle);
        }
        g.fillStyle = colour.startsWith("#") && !several ? inkOn(colour) : ink;
        g.fillText(text, x + 4, middle);
      }
      if (this.selected?.lane === lane && this.selected.box === i) {
        g.strokeStyle = ink;
        g.lineWidth = 2;
        g.strokeRect(x - 1, row.y - 1, Math.max(drawn, 3) + 2, row.height + 2);
      }
    }
  }
}


const widths = new Map<string, string>();

function fit(g: CanvasRenderingContext2D, text: string, room: number): string {
  if (room < 12) return "";
  const key = `${Math.round(room)}|${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  let shown = text;
  if (g.measureText(text).width > room) {
    let lo = 0;
    let hi = text.length;
    while (lo < hi) {
      const mid = (lo + hi + 1) >> 1;
      if (g.measureText(`${text.slice(0, mid)}…`).width <= room) lo = mid;
      else hi = mid - 1;
    }
    shown = lo > 4 ? `${text.slice(0, lo)}…` : "";
  }
  if (widths.size > 5000) widths.clear();
  widths.set(key, shown);
  return shown;
}
