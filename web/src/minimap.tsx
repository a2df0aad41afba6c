import type { TargetedPointerEvent } from "preact";
import { useMemo } from "preact/hooks";
import { list } from "./list";
import { useModel } from "./model";
import type { Box, Lane } from "./result";

/** The whole timeline as a strip: how busy the GPU is, and what the view shows of it. */
export function Minimap(p: { from: number; to: number; span: number; go: (from: number, to: number) => void }) {
  const { result } = useModel();
  const lanes = list(result.overview.lanes);
  const bars = useMemo(() => density(lanes, p.span, 240), [lanes]);
  const window = p.to - p.from;
  function centre(e: TargetedPointerEvent<HTMLDivElement>) {
    const box = e.currentTarget.getBoundingClientRect();
    const at = ((e.clientX - box.left) / Math.max(1, box.width)) * p.span;
    p.go(at - window / 2, at + window / 2);
  }
  return (
    <div class="minimap" aria-hidden="true" onPointerDown={centre} onPointerMove={(e) => e.buttons & 1 && centre(e)}>
      <svg viewBox={`0 0 ${bars.length} 10`} preserveAspectRatio="none">
        <path d={bars.map((v, i) => `M${i} 10V${(10 - v * 10).toFixed(2)}H${i + 1}V10`).join("")} />
      </svg>
      <span class="window" style={{ left: `${(p.from / p.span) * 100}%`, width: `${Math.max(0.4, (window / p.span) * 100)}%` }} />
    </div>
  );
}

/** The share of each slice of time in which GPU work ran, of the busiest lane. */
function density(lanes: Lane[], span: number, slices: number): number[] {
  const most = new Array<number>(slices).fill(0);
  for (const lane of lanes) {
    if (lane.kind !== "kernel" && lane.kind !== "copy") continue;
    const sums = new Array<number>(slices).fill(0);
    for (const b of list(lane.boxes)) addBox(sums, b, span / slices);
    sums.forEach((v, i) => (most[i] = Math.min(1, Math.max(most[i]!, v))));
  }
  return most;
}

function addBox(sums: number[], b: Box, width: number): void {
  const weight = b.c && b.c > 1 && b.l > 0 ? Math.min(1, (b.b ?? b.l) / b.l) : 1;
  const last = Math.min(sums.length - 1, Math.floor((b.s + b.l) / width));
  for (let i = Math.max(0, Math.floor(b.s / width)); i <= last; i++) {
    const inside = Math.min(b.s + b.l, (i + 1) * width) - Math.max(b.s, i * width);
    sums[i]! += (Math.max(0, inside) / width) * weight;
  }
}
