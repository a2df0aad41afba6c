import { fit } from "./canvastext";
import { levelsOf, type Events } from "./events";
import type { Run } from "./levels";
import { list } from "./list";
import type { Box, CounterLane, Lane, Overview } from "./result";
import { inkOn } from "./palette";
import { drawAxis, drawCounter, drawMeasured, xOf, type CounterRow, type Frame } from "./timelineparts";
import { groupHeight, layerAt, layOut, type Drawn, type Group, type Hit, type Rank, type Row } from "./timelinerows";
import { Search } from "./timelinesearch";
import { say } from "./words";

/** How boxes look. */
export interface Look {
  colour(lane: Lane, name: string): string;
  label(lane: Lane, box: { s: number; l: number }, name: string): string;
}

const narrow = 2; // pixels; boxes of less that begin within a cell are drawn as one
const cell = 3;

/** Draws the overview on a canvas and knows what lies where. It owns no events. */
export class TimelineView {
  readonly span: number;
  height = 0;
  from = 0;
  to: number;
  selected: Hit | null = null;
  /** Whether it is drawn for paper, which shows more dots than a screen. */
  paper = false;
  private readonly rows: Row[] = [];
  private groups: Group[] = [];
  private readonly counters: CounterRow[] = [];
  /** A stretch that is measured. */
  measured: { from: number; to: number } | null = null;
  private names: string[];
  private shapes: (number[] | null)[] = [];
  private layersOf: Events["of"] = {};
  private own = { names: 0, rows: 0 }; // without the ranks
  private partners: Hit[] = []; // what the selected event launched, or what launched it
  private width = 0;
  private gutter = 0;
  private waiting = false; // for a drawing

  constructor(
    private readonly canvas: HTMLCanvasElement,
    overview: Overview,
    private readonly look: Look,
    private readonly ranks: Rank[] = [],
    private readonly rankNames: string[] = [],
  ) {
    this.names = list(overview.names);
    this.span = Math.max(1, overview.end_ns - overview.start_ns);
    this.to = this.span;
    let group: string | null = null;
    list(overview.lanes).forEach((lane, i) => {
      const row: Row = { key: String(i), lane, levels: levelsOf(lane), drawn: [], y: 0, height: 0 };
      if (lane.group !== group) row.title = lane.group || say("timeline");
      group = lane.group;
      this.rows.push(row);
    });
    let device = -1;
    for (const lane of list(overview.counters)) {
      const row: CounterRow = { lane, values: list(lane.values), y: 0, height: 0 };
      if (lane.device !== device) row.title = say("gpu-samples", { device: String(lane.device) });
      device = lane.device;
      this.counters.push(row);
    }
    this.own = { names: this.names.length, rows: this.rows.length };
    this.showRanks(false);
  }

  /** Puts the lanes of ranks below the others: the slowest and the fastest, or all. What is selected stays so where its lane is shown. */
  showRanks(all: boolean): void {
    const { own } = this;
    const chosen = this.selected && this.rows[this.selected.lane]?.key;
    this.names = [...this.names.slice(0, own.names), ...this.rankNames];
    this.rows.length = own.rows;
    this.ranks
      .filter((r) => all || !r.folded)
      .forEach(({ key, lane }, i) => {
        const row: Row = { key, lane, levels: levelsOf(lane, own.names), drawn: [], y: 0, height: 0 };
        if (i === 0) row.title = say("rank-lanes");
        this.rows.push(row);
      });
    const lane = this.rows.findIndex((r) => r.key === chosen);
    this.selected = this.selected && lane >= 0 ? { ...this.selected, lane } : null;
    this.partners = this.selected ? this.launchedWith(this.selected) : [];
    this.layOut();
  }

  private layOut(room = 0): void {
    const { rows, own } = this;
    const laid = layOut([...rows.slice(0, own.rows), ...this.counters, ...rows.slice(own.rows)], room);
    [this.groups, this.height] = [laid.groups, laid.height];
  }

  /** The lane that a link names. Older links have a lane of a rank by its place, too. */
  laneOf(key: string): number {
    const lane = this.rows.findIndex((r) => r.key === key);
    return lane >= 0 || !/^\d+$/.test(key) ? lane : Number(key);
  }

  keyOf(lane: number): string {
    return this.rows[lane]?.key ?? "";
  }

  /** Whether the lane of a rank is one that is shown when asked for. */
  folded(key: string): boolean {
    return this.ranks.some((r) => r.key === key && r.folded);
  }

  /** Puts every event in the place of the boxes that summed them up. */
  refine(events: Events): void {
    const { own, rows } = this;
    if (events.lanes.length !== own.rows) return;
    const all = this.ranks.length > 0 && rows.length === own.rows + this.ranks.length;
    this.names = events.names;
    this.shapes = events.shapes;
    this.layersOf = events.of;
    own.names = events.names.length;
    events.lanes.forEach((levels, i) => (rows[i]!.levels = levels));
    this.showRanks(all);
    this.select(null);
  }

  /** Selects a box, with the events at the other end of its launch. */
  select(hit: Hit | null): void {
    this.selected = hit;
    this.partners = hit ? this.launchedWith(hit) : [];
    this.draw();
  }

  private launchedWith(hit: Hit): Hit[] {
    const row = this.rows[hit.lane];
    const launch = (hit.of ?? 1) === 1 ? row?.levels.boxes.launch[hit.box] : 0;
    if (!row || !launch) return [];
    return this.rows.flatMap((other, lane) => {
      if ((other.lane.kind === "api") === (row.lane.kind === "api")) return [];
      const found: Hit[] = [];
      for (let i = other.levels.boxes.launch.indexOf(launch); i >= 0 && found.length < 64; i = other.levels.boxes.launch.indexOf(launch, i + 1)) found.push({ lane, box: i });
      return found;
    });
  }

  /** The events whose name is wanted. */
  search(wanted: (kernel: boolean, name: string) => boolean): Search {
    return new Search(this.rows, this.names, wanted);
  }

  /** Where a search goes on: at what is selected, else at the edge of the view. */
  searchFrom(search: Search, by: 1 | -1): ReturnType<Search["place"]> {
    if (this.selected) return search.place(this.selected.lane, this.selected.box);
    return by > 0 ? { start: this.from, lane: -1, box: 0 } : { start: this.to, lane: Infinity, box: 0 };
  }

  /** Brings a box into view, wide enough to be seen. */
  reveal(hit: Hit): void {
    const b = this.boxAt(hit);
    if (!b) return;
    const length = Math.max(b.l * 1.2, Math.min(this.to - this.from, Math.max(b.l, 100) * 100));
    this.show(b.s + b.l / 2 - length / 2, b.s + b.l / 2 + length / 2);
  }

  get lanes(): number {
    return this.rows.length;
  }

  lane(i: number): Lane | undefined {
    return this.rows[i]?.lane;
  }

  boxAt(hit: Hit): Box | undefined {
    const c = this.rows[hit.lane]?.levels.boxes;
    if (!c || hit.box >= c.length) return undefined;
    const last = Math.min(c.length, hit.box + (hit.of ?? 1)) - 1;
    const b = { s: c.start[hit.box]!, l: 0, n: c.name[hit.box]!, c: 0, b: 0 };
    let [reach, longest] = [b.s, -1];
    for (let i = hit.box; i <= last; i++) {
      const end = c.start[i]! + c.len[i]!;
      b.c += c.count[i]! || 1;
      b.b += c.count[i]! > 1 ? c.busy[i]! : Math.max(0, end - Math.max(reach, c.start[i]!));
      reach = Math.max(reach, end);
      if (c.len[i]! > longest) [longest, b.n] = [c.len[i]!, c.name[i]!];
    }
    b.l = reach - b.s;
    return b;
  }

  /** Where a lane is drawn. */
  extent(lane: number): { y: number; height: number } | undefined {
    return this.rows[lane];
  }

  /** What the selected event launched, or what launched it. */
  get launched(): Hit[] {
    return this.partners;
  }

  /** The layer that an event is a part of; "" where none is known. */
  layer(hit: Hit): string {
    const box = this.boxAt(hit);
    if (!box || (hit.of ?? 1) > 1) return "";
    for (const [layers, lane] of Object.entries(this.layersOf)) {
      const levels = lane === hit.lane ? this.rows[Number(layers)]?.levels : undefined;
      const at = levels ? layerAt(levels, box.s, box.s + box.l) : -1;
      if (levels && at >= 0) return this.names[levels.boxes.name[at]!] ?? "";
    }
    return "";
  }

  /** Grid and block of a kernel; undefined where its name stands for several. */
  shape(box: Box): number[] | undefined {
    return this.shapes[box.n] ?? undefined;
  }

  name(box: Box): string {
    return this.names[box.n] ?? "";
  }

  resize(): void {
    const width = this.canvas.clientWidth;
    if (width === 0) return;
    const ratio = this.ratio;
    this.layOut(this.room());
    this.width = width;
    this.gutter = width < 640 ? 88 : 150;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = `${this.height}px`;
    this.paint(); // at once: a canvas whose size is set is empty
  }

  /** The height that the lanes have where they fill the screen; 0 elsewhere. */
  private room(): number {
    return this.canvas.closest(":fullscreen") ? (this.canvas.parentElement?.clientHeight ?? 0) : 0;
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

  hit(x: number, y: number): Hit | null {
    const lane = this.rows.findIndex((r) => y >= r.y - 1 && y <= r.y + r.height + 1);
    if (lane < 0 || x < this.gutter) return null;
    let best: Hit | null = null;
    let nearest = 2;
    for (const d of this.rows[lane]!.drawn) {
      const away = Math.max(0, d.x - x, x - d.end);
      if (away <= nearest) {
        nearest = away;
        best = { lane, box: d.box, of: d.of };
      }
    }
    return best;
  }

  /** The reading of a sampled counter at a place, in thousandths; -1 where there is none. */
  counterAt(x: number, y: number): { lane: CounterLane; value: number; at: number } | undefined {
    const row = this.counters.find((c) => y >= c.y && y <= c.y + c.height);
    if (!row || x < this.gutter) return undefined;
    const at = this.timeAt(x);
    const value = row.values[Math.floor((at - row.lane.start_ns) / row.lane.bin_ns)] ?? -1;
    return { lane: row.lane, value, at };
  }

  /** Selects a box of a lane without moving the view: the first that begins in view, else one that reaches into it, else the nearest. */
  enter(lane: number): Hit | null {
    const row = this.rows[lane];
    if (!row || row.levels.boxes.length === 0) return null;
    const { start, len, length } = row.levels.boxes;
    const last = length - 1;
    let box = row.levels.beginningFrom(this.from);
    if (box > last || start[box]! > this.to) box = row.levels.endingFrom(this.from);
    if (box > last || start[box]! > this.to) {
      const away = (i: number) => Math.max(start[i]! - this.to, this.from - start[i]! - len[i]!);
      box = Math.min(box, last);
      if (box > 0 && away(box - 1) < away(box)) box--;
    }
    this.select({ lane, box });
    return this.selected;
  }

  /** Selects the next or previous box of a lane. The view follows where nothing of it would be seen. */
  step(lane: number, by: number): Hit | null {
    const row = this.rows[lane];
    if (!row || row.levels.boxes.length === 0) return null;
    if (this.selected?.lane !== lane) return this.enter(lane);
    const box = Math.max(0, Math.min(row.levels.boxes.length - 1, this.selected.box + by));
    this.select({ lane, box });
    const b = this.boxAt({ lane, box })!;
    if (!this.sees(b)) {
      const length = Math.max(this.to - this.from, b.l * 1.2);
      this.show(b.s + b.l / 2 - length / 2, b.s + b.l / 2 + length / 2);
    }
    return this.selected;
  }

  /** Whether some of a box is in view. */
  sees(b: Box): boolean {
    return b.s + b.l >= this.from && b.s <= this.to;
  }

  /** Draws once what was changed, however often, by what runs now. */
  draw(): void {
    if (this.waiting) return;
    this.waiting = true;
    queueMicrotask(() => this.paint());
  }

  private paint(): void {
    this.waiting = false;
    const g = this.canvas.getContext("2d");
    if (!g || this.width === 0) return;
    const style = getComputedStyle(this.canvas);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const { from, to, width, height, gutter } = this;
    const f: Frame = { g, from, to, width, height, gutter, ink: colour("--ink"), quiet: colour("--quiet"), line: colour("--line"), ground: colour("--lane"), edge: colour("--edge") };
    const ratio = this.ratio;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    g.textBaseline = "middle";
    const strong = `600 11px ${style.fontFamily}`;
    g.font = strong;
    g.fillStyle = f.ink;
    for (const group of this.groups) g.fillText(fit(g, group.label, width - 12), 6, group.y + groupHeight / 2 + 2);
    g.font = `11px ${style.fontFamily}`;
    drawAxis(f);
    let label = "";
    this.rows.forEach((row, i) => {
      g.fillStyle = f.ground;
      g.fillRect(gutter, row.y, width - gutter, row.height);
      this.drawBoxes(f, row, i);
      // Deeper lanes of the same thread go without its name.
      if (row.lane.label !== label) this.drawLabel(f, row);
      label = row.lane.label;
    });
    for (const row of this.counters) drawCounter(f, row);
    this.drawArrows(f);
    g.font = strong;
    if (this.measured) drawMeasured(f, this.measured);
  }

  private drawLabel(f: Frame, row: Row): void {
    const { label, group } = row.lane;
    f.g.fillStyle = f.quiet;
    f.g.fillText(fit(f.g, label.startsWith(`${group} `) ? label.slice(group.length + 1) : label, f.gutter - 16), 10, row.y + row.height / 2 + 0.5);
  }

  /** Draws the boxes in view. Those too narrow to be seen that begin within a cell are one, which says how many it stands for. */
  private drawBoxes(f: Frame, row: Row, lane: number): void {
    const { levels } = row;
    const { start, len, count, name, length } = levels.boxes;
    const scale = (f.width - f.gutter) / (f.to - f.from);
    row.drawn = [];
    for (let i = levels.endingFrom(f.from); i < length && start[i]! <= f.to; ) {
      const x = Math.max(f.gutter, f.gutter + (start[i]! - f.from) * scale);
      let end = x + len[i]! * scale;
      let run: Run | undefined;
      if (end - x < narrow) {
        run = levels.run(i, length, f.from + (x - f.gutter + cell) / scale, narrow / scale);
        end = Math.max(x + (run.last > i ? cell - 0.5 : 0.8), f.gutter + (start[run.last]! + len[run.last]! - f.from) * scale);
      } else end = Math.min(f.width, f.gutter + (start[i]! + len[i]! - f.from) * scale);
      const last = run?.last ?? i;
      const drawn = { box: i, of: last - i + 1, x, end };
      row.drawn.push(drawn);
      if (last > i || count[i]! > 1) this.drawSum(f, row, run ?? levels.run(i, i + 1, Infinity, Infinity), drawn);
      else this.drawEvent(f, row, drawn, this.names[name[i]!] ?? "");
      if (this.selected?.lane === lane && this.selected.box >= i && this.selected.box <= last) {
        f.g.strokeStyle = f.ink;
        f.g.lineWidth = 2;
        f.g.strokeRect(x - 1, row.y - 1, Math.max(end - x, 3) + 2, row.height + 2);
      }
      i = start[last]! < f.from ? levels.endingFrom(f.from, last + 1) : last + 1;
    }
  }

  private drawEvent(f: Frame, row: Row, d: Drawn, name: string): void {
    const { g } = f;
    const { start, len } = row.levels.boxes;
    const width = d.end - d.x;
    const colour = this.look.colour(row.lane, name);
    g.fillStyle = colour;
    g.fillRect(d.x, row.y, Math.max(width > 3 ? width - 0.6 : width, 0.8), row.height);
    if (width > 3 && colour.startsWith("#")) {
      g.fillStyle = f.edge;
      g.fillRect(d.x, row.y, width - 0.6, 1);
    }
    if (width <= 34 || row.height < 16) return;
    g.fillStyle = colour.startsWith("#") ? inkOn(colour) : f.ink;
    g.fillText(fit(g, this.look.label(row.lane, { s: start[d.box]!, l: len[d.box]! }, name), width - 8), d.x + 4, row.y + row.height / 2 + 0.5);
  }

  /** A box of several events is filled as high as the share of time in which one of them ran. */
  private drawSum(f: Frame, row: Row, run: Run, d: Drawn): void {
    const { g } = f;
    const { start, name } = row.levels.boxes;
    const busy = Math.max(0.08, Math.min(1, run.busy / Math.max(1, run.end - start[d.box]!)));
    g.fillStyle = this.look.colour(row.lane, this.names[name[run.longest]!] ?? "");
    g.globalAlpha = 0.28;
    g.fillRect(d.x, row.y, d.end - d.x, row.height);
    g.globalAlpha = 1;
    g.fillRect(d.x, row.y + row.height * (1 - busy), d.end - d.x, row.height * busy);
    if (d.end - d.x <= 34 || row.height < 16) return;
    const text = fit(g, say("events", { n: run.count }), d.end - d.x - 8);
    const middle = row.y + row.height / 2 + 0.5;
    g.strokeStyle = f.ground; // such a box is filled in part, so the text brings its ground along
    g.lineWidth = 3;
    g.lineJoin = "round";
    g.strokeText(text, d.x + 4, middle);
    g.fillStyle = f.ink;
    g.fillText(text, d.x + 4, middle);
  }

  /** Lines from the call to what it launched, for the selected event. */
  private drawArrows(f: Frame): void {
    const { g } = f;
    const here = this.selected && this.boxAt(this.selected);
    if (!here || !this.selected) return;
    const row = this.rows[this.selected.lane]!;
    g.strokeStyle = g.fillStyle = f.ink;
    g.lineWidth = 1.2;
    for (const p of this.partners) {
      const [other, there] = [this.rows[p.lane]!, this.boxAt(p)!];
      const calls = row.lane.kind === "api";
      const [from, to] = calls ? [{ row, b: here }, { row: other, b: there }] : [{ row: other, b: there }, { row, b: here }];
      const [x1, x2] = [Math.max(f.gutter, xOf(f, from.b.s)), Math.max(f.gutter, xOf(f, to.b.s))];
      const down = to.row.y > from.row.y;
      const [y1, y2] = [from.row.y + (down ? from.row.height : 0), to.row.y + (down ? 0 : to.row.height)];
      g.beginPath();
      g.moveTo(x1, y1);
      g.lineTo(x2, y2);
      g.stroke();
      g.beginPath();
      g.arc(x2, y2, 3, 0, 2 * Math.PI);
      g.fill();
    }
  }
}
