import type { Result } from "./result";
import { list } from "./list";

// Any two kinds, and any two causes of gaps, are at least 10 apart by CIEDE2000, also
// for readers who see red, green or blue less or not at all, and a cause is as far from
// every kind, since both stand in one bar; colors_test.go of internal/report/html holds that. Colour is never alone: every use has a label or a
// table beside it, and gaps are hatched.
const known: Record<string, string> = {
  gemm: "#4775a4",
  attention: "#ae387e",
  convolution: "#302284",
  normalisation: "#1cb78d",
  softmax: "#c393c0",
  elementwise: "#e9c92e",
  reduction: "#489764",
  scan_sort: "#4a545f",
  copy_cast: "#25d6fc",
  layout: "#aad5dd",
  embedding: "#ba8623",
  position: "#924fff",
  sampling: "#f56676",
  moe: "#b6d186",
  quantisation: "#866767",
  pooling: "#757634",
  fft: "#699af8",
  solver: "#3442c4",
  random: "#ffa6b2",
  optimiser: "#77440c",
  communication: "#65113b",
  fused: "#075d3a",
  other: "#8e9297",
};
/** For categories that a user added. */
const spare = ["#7788aa", "#bb7744", "#669933", "#995599", "#33aabb", "#aa6655", "#777733", "#5588cc"];

/** Causes of gaps: a colour and a hatching of its own for each, as style.css has it. */
const idle: Record<string, [colour: string, hatch: string]> = {
  launch: ["#ec6200", "rising"],
  python: ["#616fea", "falling"],
  sync: ["#264366", "upright"],
  copy: ["#00a5c2", "flat"],
  alloc: ["#70150b", "rising coarse"],
  call: ["#675c2c", "falling coarse"],
  host: ["#ebc7ff", "flat coarse"],
  none: ["#b8bcc4", "upright coarse"],
  graph: ["#fdb28f", "crossed"],
  others: ["#061319", "crossed coarse"],
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
    return (idle[id] ?? idle["none"]!)[0];
  }

  hatch(id: string): string {
    return (idle[id] ?? idle["none"]!)[1];
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
