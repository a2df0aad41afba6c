/** A box of a flame graph or an icicle: from and width are shares of the whole. */
export interface Placed {
  depth: number;
  from: number;
  width: number;
}

/** The box that an arrow key leads to from another; -1 for none. */
export function neighbour(boxes: Placed[], at: number, key: string): number {
  const b = boxes[at]!;
  const middle = b.from + b.width / 2;
  switch (key) {
    case "ArrowDown":
      return boxes.findIndex((o) => o.depth === b.depth + 1 && o.from + o.width > b.from && o.from < b.from + b.width);
    case "ArrowUp":
      return boxes.findIndex((o) => o.depth === b.depth - 1 && o.from <= middle && o.from + o.width >= middle);
    case "ArrowRight": {
      const right = boxes.map((o, i) => ({ o, i })).filter((e) => e.o.depth === b.depth && e.o.from > b.from);
      return right.length ? right.reduce((m, e) => (e.o.from < m.o.from ? e : m)).i : -1;
    }
    case "ArrowLeft": {
      const left = boxes.map((o, i) => ({ o, i })).filter((e) => e.o.depth === b.depth && e.o.from < b.from);
      return left.length ? left.reduce((m, e) => (e.o.from > m.o.from ? e : m)).i : -1;
    }
    default:
      return -1;
  }
}
