import type { Result } from "./result";
import { list } from "./list";

// Paul Tol's schemes, which stay apart for colour-blind readers. Colour is
// never alone: every use has a label or a table beside it.
const known: Record<string, string> = {
  gemm: "#4477aa",
  attention: "#aa3377",
  normalisation: "#44aa99",
  normalization: "#44aa99",
  norm: "#44aa99",
  elementwise: "#ccbb44",
  reduction: "#228833",
  copy: "#66ccee",
  copy_cast: "#66ccee",
  cast: "#66ccee",
  memory: "#66ccee",
  memset: "#99ddff",
  embedding: "#ddaa77",
  sampling: "#ee6677",
  communication: "#882255",
  convolution: "#5566bb",
  conv: "#5566bb",
  random: "#bb7744",
  softmax: "#cc99bb",
  activation: "#774411",
  other: "#999999",
};
const spare = ["#7788aa", "#bb7744", "#669933", "#995599", "#33aabb", "#aa6655", "#777733", "#5588cc"];

const idle: Record<string, string> = {
  launch: "#ee7733",
  python: "#8f7ac0",
  sync: "#8899aa",
  copy: "#77aabb",
  alloc: "#aa8877",
  call: "#6b8f71",
  host: "#c9b8e0",
  none: "#c4c8cf",
};

export class Palette {
  private readonly ids = new Map<string, string>();
  private readonly labels = new Map<string, string>();
  private used = 0;

  constructor(result: Result) {
    for (const c of list(result.categories)) {
      this.labels.set(c.id, c.label);
      this.category(c.id);
    }
  }

  category(id: string): string {
    let colour = known[id] ?? this.ids.get(id);
    if (!colour) {
      colour = spare[this.used++ % spare.length]!;
      this.ids.set(id, colour);
    }
    return colour;
  }

  label(id: string): string {
    return this.labels.get(id) ?? id;
  }

  idle(id: string): string {
    return idle[id] ?? "#b0b6be";
  }

  /** A quiet colour for a range, the same for the same name. */
  range(name: string, dark: boolean): string {
    let h = 0;
    for (let i = 0; i < name.length; i++) h = (h * 31 + name.charCodeAt(i)) | 0;
    const hue = (((h % 24) + 24) % 24) * 15;
    return dark ? `hsl(${hue} 22% 34%)` : `hsl(${hue} 38% 82%)`;
  }
}

/** Black or white, whichever is read more easily on colour (#rrggbb): with a contrast of at least 4.58. */
export function inkOn(colour: string): string {
  const n = parseInt(colour.slice(1), 16);
  const linear = [n >> 16, (n >> 8) & 255, n & 255].map((v) => {
    const c = v / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  const light = 0.2126 * linear[0]! + 0.7152 * linear[1]! + 0.0722 * linear[2]!;
  return light > 0.179 ? "#000000" : "#ffffff";
}
