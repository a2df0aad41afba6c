import { list } from "./list";
import type { Region, Result } from "./result";
import { say } from "./words";

export interface Node {
  index: number;
  region: Region;
  children: Node[];
  parent: Node | null;
}

export type Measure = "kernel" | "wall";

/** The regions as trees. */
export function regionTree(result: Result): Node[] {
  const nodes = list(result.regions).map((region, index): Node => ({ index, region, children: [], parent: null }));
  const roots: Node[] = [];
  for (const n of nodes) {
    const parent = n.region.parent >= 0 && n.region.parent < n.index ? nodes[n.region.parent] : undefined;
    if (parent) {
      n.parent = parent;
      parent.children.push(n);
    } else {
      roots.push(n);
    }
  }
  return roots;
}

/** The name of a region in links: its path, with the process and the GPU where it is a share of one. */
export function regionKey({ region: r }: Node): string {
  return [r.path, r.process ?? "", r.device ?? ""].join("|").replace(/\|+$/, "");
}

/** The region that a link names. */
export function regionAt(roots: Node[], key: string): Node | null {
  if (!key) return null;
  for (const n of roots) {
    const found = regionKey(n) === key ? n : regionAt(n.children, key);
    if (found) return found;
  }
  return null;
}

/** The trees without those that repeat a part of another for one process or GPU. */
export function withoutShares(roots: Node[]): Node[] {
  const whole = roots.filter((n) => n.region.process == null && n.region.device == null);
  return whole.length > 0 ? whole : roots;
}

/** The name of a region, at the top with its domain, as in its path. */
export function regionName(n: Node): string {
  const { name, domain } = n.region;
  return (domain && !n.parent ? `${domain}@` : "") + (name || say("unnamed"));
}

export function measure(n: Node, m: Measure): number {
  if (n.region.times) return n.region.ncu_ns ?? 0; // under ncu
  return m === "kernel" ? n.region.kernel_ns : n.region.wall_ns;
}

/** How long a region takes, with its share of all GPU time. */
function timeOf({ region: r }: Node, m: Measure): string {
  if (r.times) return r.ncu_ns_text ?? "";
  if (m === "wall") return r.wall_ns_text;
  return r.share != null ? say("flame-share", { time: r.kernel_ns_text, share: r.share_text }) : r.kernel_ns_text;
}

/** A box of the flame graph: from and width are shares of the whole. */
export interface Flame {
  node: Node | null;
  kernel: number; // index into the kernels, or -1
  label: string;
  rest?: number; // launches that this box stands for, where it is no kernel by itself
  time: string; // how long it takes, and of what it is a share; "" of the rest
  depth: number;
  from: number;
  width: number;
}

const least = 0.0015; // of the width; a thinner box could be neither seen nor hit

/** Lays out the trees below tops; leaves stand on the kernels launched in them. */
export function layOut(tops: Node[], m: Measure): Flame[] {
  const out: Flame[] = [];
  const total = tops.reduce((sum, n) => sum + measure(n, m), 0);
  if (total <= 0) return out;
  const place = (n: Node, depth: number, from: number, width: number) => {
    const ns = measure(n, m);
    out.push({ node: n, kernel: -1, label: regionName(n), time: timeOf(n, m), depth, from, width });
    const inside = n.children.reduce((sum, c) => sum + measure(c, m), 0);
    // Children that ran at the same time can take longer than their parent.
    // Kernels that run on after a range, or side by side, take longer than its wall time.
    const gpu = n.region.times ? ns : n.region.kernel_ns;
    const scale = width / Math.max(ns, inside, n.children.length === 0 ? gpu : 0, 1);
    let at = from;
    for (const c of [...n.children].sort((a, b) => measure(b, m) - measure(a, m))) {
      const w = measure(c, m) * scale;
      if (w >= least) place(c, depth + 1, at, w);
      at += w;
    }
    if (n.children.length > 0) return;
    let [left, launches] = [gpu, n.region.kernels];
    for (const k of list(n.region.top)) {
      const w = k.ns * scale;
      if (w < least) continue;
      out.push({ node: n, kernel: k.kernel, label: "", time: k.share_text ? say("flame-kernel-share", { time: k.ns_text, share: k.share_text }) : k.ns_text, depth: depth + 1, from: at, width: w });
      at += w;
      left -= k.ns;
      launches -= k.calls;
    }
    if (launches > 0 && left * scale >= least) out.push({ node: n, kernel: -1, label: say("flame-launches", { n: launches }), rest: launches, time: "", depth: depth + 1, from: at, width: left * scale });
  };
  let at = 0;
  for (const n of tops) {
    const w = measure(n, m) / total;
    if (w >= least) place(n, 0, at, w);
    at += w;
  }
  return out;
}
