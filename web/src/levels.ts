import type { Columns } from "./events";

const fan = 16; // boxes, or blocks of the level below, in a block

/** Blocks of a number of boxes in a row. Only full ones are kept. */
interface Level {
  size: number;
  longest: Uint32Array; // the place of the longest box
  reach: Float64Array; // when the last of them ends
  count: Float64Array;
  busy: Float64Array; // time in which at least one of them runs
}

/** Boxes that are drawn as one. */
export interface Run {
  last: number;
  end: number;
  count: number;
  busy: number;
  longest: number;
}

/** The boxes of a lane with sums of them, so that a million are gone through in the time of a few thousand. */
export class Levels {
  private readonly levels: Level[] = [];

  constructor(readonly boxes: Columns) {
    for (let size = fan; size <= boxes.length; size *= fan) this.levels.push(this.level(size));
  }

  private level(size: number): Level {
    const n = Math.floor(this.boxes.length / size);
    const level = { size, longest: new Uint32Array(n), reach: new Float64Array(n), count: new Float64Array(n), busy: new Float64Array(n) };
    for (let i = 0; i < n; i++) {
      const run = this.run(i * size, (i + 1) * size, Infinity, Infinity);
      level.longest[i] = run.longest;
      level.reach[i] = run.end;
      level.count[i] = run.count;
      level.busy[i] = run.busy;
    }
    return level;
  }

  /**
   * Box i and those after it, up to place to, that begin before until and are shorter than narrow.
   * Time in which two of them run counts once, as exactly as blocks tell.
   */
  run(i: number, to: number, until: number, narrow: number): Run {
    const { start, len, count, busy } = this.boxes;
    const run: Run = { last: i - 1, end: start[i]!, count: 0, busy: 0, longest: i };
    for (let at = i; at < to; run.last = at - 1) {
      const l = this.blockAt(at, to, until, narrow, -Infinity);
      if (l) {
        const b = at / l.size;
        add(run, start[at]!, l.reach[b]!, l.count[b]!, l.busy[b]!);
        if (len[l.longest[b]!]! > len[run.longest]!) run.longest = l.longest[b]!;
        at += l.size;
        continue;
      }
      if (at > i && (start[at]! >= until || len[at]! >= narrow)) break;
      add(run, start[at]!, start[at]! + len[at]!, count[at]! || 1, count[at]! > 1 ? busy[at]! : len[at]!);
      if (len[at]! > len[run.longest]!) run.longest = at;
      at++;
    }
    return run;
  }

  /** The first box from place at on that does not end before a time; the number of boxes where there is none. */
  endingFrom(time: number, at = 0): number {
    const { start, len, length } = this.boxes;
    while (at < length) {
      const l = this.blockAt(at, length, -Infinity, 0, time);
      if (l) at += l.size;
      else if (start[at]! + len[at]! < time) at++;
      else break;
    }
    return at;
  }

  /** The first box that begins at a time or later. */
  beginningFrom(time: number): number {
    const { start, length } = this.boxes;
    let [lo, hi] = [0, length];
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (start[mid]! < time) lo = mid + 1;
      else hi = mid;
    }
    return lo;
  }

  /** The level of the largest block that begins at a place, ends by another, and either ends before a time or has only boxes that begin before until and are shorter than narrow. */
  private blockAt(at: number, to: number, until: number, narrow: number, time: number): Level | undefined {
    if (at % fan !== 0) return undefined;
    const { start, len } = this.boxes;
    for (let k = this.levels.length - 1; k >= 0; k--) {
      const l = this.levels[k]!;
      const b = at / l.size;
      if (at % l.size !== 0 || at + l.size > to) continue;
      if (l.reach[b]! < time || (start[at + l.size - 1]! < until && len[l.longest[b]!]! < narrow)) return l;
    }
    return undefined;
  }
}

/** Adds boxes to a run; what they do while it goes on counts once. */
function add(run: Run, start: number, end: number, count: number, busy: number): void {
  run.count += count;
  run.busy += Math.max(0, busy - Math.max(0, run.end - start));
  run.end = Math.max(run.end, end);
}
