import type { Levels } from "./levels";
import type { Lane } from "./result";

/** A place in the order in which events are gone through: by start, then by lane. */
interface Place {
  start: number;
  lane: number;
  box: number;
}

/** How many events were found, and which of them, from 1, is selected; 0 where none of them is. */
export interface Found {
  of: number;
  at: number;
}

type Rows = { lane: Lane; levels: Levels }[];

/** Events by name. It is made for one search, over the rows that are shown then. */
export class Search {
  private readonly hits: Uint8Array[]; // by row, then by name

  constructor(
    private readonly rows: Rows,
    names: string[],
    wanted: (kernel: boolean, name: string) => boolean,
  ) {
    const list = (kernel: boolean) => Uint8Array.from(names, (n) => Number(wanted(kernel, n)));
    const [kernels, others] = [list(true), list(false)];
    this.hits = rows.map((r) => (r.lane.kind === "kernel" ? kernels : others));
  }

  count(selected: { lane: number; box: number } | null): Found {
    const here = selected && this.place(selected.lane, selected.box);
    const found = { of: 0, at: 0 };
    let passed = 0; // those up to the selected one
    this.rows.forEach((row, lane) => {
      const { name, length } = row.levels.boxes;
      const hits = this.hits[lane]!;
      const after = here ? this.firstAfter(lane, here) : 0;
      for (let i = 0; i < length; i++) {
        const hit = hits[name[i]!]!;
        found.of += hit;
        if (i < after) passed += hit;
      }
    });
    if (here && this.isHit(here)) found.at = passed;
    return found;
  }

  /** The next one (by 1) or the one before (by -1); past the last comes the first. */
  next(from: Place, by: 1 | -1): { lane: number; box: number } | null {
    return this.nearest(from, by) ?? this.nearest({ start: -by * Infinity, lane: -by * Infinity, box: 0 }, by);
  }

  place(lane: number, box: number): Place {
    return { start: this.rows[lane]?.levels.boxes.start[box] ?? 0, lane, box };
  }

  private isHit(p: Place): boolean {
    const name = this.rows[p.lane]?.levels.boxes.name[p.box];
    return name !== undefined && this.hits[p.lane]![name] === 1;
  }

  /** The first box of a lane that comes after a place. */
  private firstAfter(lane: number, p: Place): number {
    if (lane === p.lane) return p.box + 1;
    return this.rows[lane]!.levels.beginningFrom(lane > p.lane ? p.start : p.start + 1); // starts are whole nanoseconds
  }

  private nearest(from: Place, by: 1 | -1): Place | null {
    let best: Place | null = null;
    this.rows.forEach((row, lane) => {
      const { name, length } = row.levels.boxes;
      const hits = this.hits[lane]!;
      const first = this.firstAfter(lane, from);
      let i = by > 0 ? first : (lane === from.lane ? from.box : first) - 1;
      while (i >= 0 && i < length && !hits[name[i]!]) i += by;
      if (i < 0 || i >= length) return;
      const p = this.place(lane, i);
      if (!best || (p.start - best.start || p.lane - best.lane) * by < 0) best = p;
    });
    return best;
  }
}
