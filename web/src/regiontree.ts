import { list } from "./list";
import type { Carried, FlameRegion } from "./model";
import type { Region } from "./result";
import { say } from "./words";

export interface Node {
  index: number;
  region: Region;
  flame: FlameRegion;
  children: Node[];
  parent: Node | null;
}

export type Measure = "kernel" | "wall";

/** The regions as trees. */
export function regionTree(result: Carried): Node[] {
  const flames = list(result.flame.regions);
  const nodes = list(result.regions).map((region, index): Node => ({ index, region, flame: flames[index]!, children: [], parent: null }));
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
  return roots.filter((n) => !n.flame.part);
}

/** The name of a region, at the top with its domain, as in its path. */
export function regionName(n: Node): string {
  const { name, domain } = n.region;
  return (domain && !n.parent ? `${domain}@` : "") + (name || say("unnamed"));
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

/** Lays out the trees below tops, which fill a width that stands for so many nanoseconds; below regions stand the kernels launched in them. */
export function layOut(tops: Node[], m: Measure, whole: number): Flame[] {
  const out: Flame[] = [];
  if (whole <= 0) return out;
  const size = (n: Node) => (m === "wall" ? n.flame.wall_ns : n.flame.gpu_ns);
  const place = (nodes: Node[], depth: number, start: number, per: number): number => {
    let at = start;
    for (const n of nodes) {
      const width = size(n) * per;
      if (width >= least) {
        out.push({ node: n, kernel: -1, label: regionName(n), time: timeOf(n, m), depth, from: at, width });
        const below = width / (m === "wall" ? n.flame.wall_across : n.flame.gpu_across);
        const children = [...n.children].sort((a, b) => size(b) - size(a));
        kernels(n, depth + 1, place(children, depth + 1, at, below), below);
      }
      at += width;
    }
    return at;
  };
  /** Kernels as long as they can be seen, then one box for the rest. */
  const kernels = (n: Node, depth: number, start: number, per: number) => {
    let at = start;
    const rest = (launches = 0, ns = 0) => {
      if (launches > 0 && ns * per >= least) out.push({ node: n, kernel: -1, label: say("flame-launches", { n: launches }), rest: launches, time: "", depth, from: at, width: ns * per });
    };
    for (const k of list(n.flame.kernels)) {
      const width = k.ns * per;
      if (width < least) return rest(k.launches, k.rest);
      out.push({ node: n, kernel: k.kernel, label: "", time: k.share_text ? say("flame-kernel-share", { time: k.ns_text, share: k.share_text }) : k.ns_text, depth, from: at, width });
      at += width;
    }
    rest(n.flame.launches, n.flame.rest);
  };
  place(tops, 0, 0, 1 / whole);
  return out;
}
