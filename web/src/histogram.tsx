import { count } from "./format";
import { list } from "./list";
import type { Histogram } from "./result";
import { hideTip, showTip } from "./tip";
import { say } from "./words";

const height = 206;
const margin = { left: 8, right: 8, top: 18, bottom: 44 };

/** Bars of equal width, one a bin; the bounds stand below. */
export function HistogramPlot(p: { histogram: Histogram; label: string; what?: string; axis?: string; width?: number }) {
  const width = p.width ?? 520; // pixels at which texts have their size
  const what = p.what ?? say("histogram-launches");
  const counts = list(p.histogram.counts);
  const bounds = list(p.histogram.bounds);
  if (counts.length === 0 || bounds.length < counts.length) return <p class="quiet">{say("histogram-none")}</p>;
  const most = Math.max(...counts);
  const bin = (width - margin.left - margin.right) / counts.length;
  const floor = height - margin.bottom;
  const texts = list(p.histogram.bounds_text);
  const range = (i: number) => say("from-to", { from: texts[i]!, to: texts[i + 1] ?? texts[i]! });
  const every = Math.max(1, Math.ceil(counts.length / (width < 400 ? 3 : 5)));
  return (
    <>
      <div class="plot">
        <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={say("histogram-label", { what: p.label })}>
          <line class="base" x1={margin.left} x2={width - margin.right} y1={floor} y2={floor} />
          {counts.map((c, i) => {
            const h = c === 0 ? 0 : Math.max(2, (c / most) * (floor - margin.top));
            return (
              <g key={i} class="bin" onPointerMove={(e) => showTip(e.clientX, e.clientY, [range(i), `${count(c)} ${what}`])} onPointerLeave={hideTip}>
                <rect class="catch" x={margin.left + i * bin} y={margin.top} width={bin} height={floor - margin.top} />
                <rect x={margin.left + i * bin + 1} y={floor - h} width={Math.max(1, bin - 2)} height={h} />
              </g>
            );
          })}
          {texts.map((text, i) =>
            i % every === 0 || i === counts.length ? (
              <text key={i} x={margin.left + i * bin} y={floor + 18} text-anchor={i === 0 ? "start" : i === counts.length ? "end" : "middle"}>
                {i !== counts.length && counts.length - i < every * 0.7 ? "" : text}
              </text>
            ) : null,
          )}
          <text class="axis" x={margin.left} y={11}>
            {say("histogram-axis", { what, most })}
          </text>
          <text class="axis" x={width / 2} y={height - 6} text-anchor="middle">
            {p.axis ?? say("histogram-duration")}
          </text>
        </svg>
      </div>
      <details class="alternative">
        <summary>{say("histogram-as-table")}</summary>
        <table class="data small">
          <caption class="unseen">{p.label}</caption>
          <thead>
            <tr>
              <th scope="col">{say("duration")}</th>
              <th scope="col" class="num">{what}</th>
            </tr>
          </thead>
          <tbody>
            {counts.map((c, i) =>
              c === 0 ? null : (
                <tr key={i}>
                  <th scope="row">{range(i)}</th>
                  <td class="num">{count(c)}</td>
                </tr>
              ),
            )}
          </tbody>
        </table>
      </details>
    </>
  );
}
