import type { TargetedPointerEvent } from "preact";
import { list } from "./list";
import { useModel } from "./model";

/** The whole timeline as a strip: how busy the GPU is, and what the view shows of it. */
export function Minimap(p: { from: number; to: number; span: number; go: (from: number, to: number) => void }) {
  const { result } = useModel();
  const bars = list(result.density);
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
