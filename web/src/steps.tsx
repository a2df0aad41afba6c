import { useEffect, useRef } from "preact/hooks";
import { ReportTable } from "./columns";
import { count, time } from "./format";
import { HistogramPlot } from "./histogram";
import { list } from "./list";
import { useModel } from "./model";
import { Section } from "./parts";
import type { LayerStrip, StripColumn } from "./result";
import { linkTo } from "./route";
import { useTheme } from "./theme";
import { hideTip, showTip } from "./tip";
import { say } from "./words";

/** How the steps of the timeline differ: durations by kind, and layers that took longer than usual. */
export function Steps() {
  const { result } = useModel();
  const steps = result.steps;
  if (!steps) return null;
  const plots = list(steps.groups).filter((g) => g.histogram);
  const strip = steps.strip;
  return (
    <Section id="steps" title={say("steps")}>
      <ReportTable name="steps" caption={say("steps-table")} />
      <div class="columns histograms">
        {plots.map((g) => (
          <div key={g.stage} class="step-histogram">
            <h3>{g.stage}</h3>
            <HistogramPlot histogram={g.histogram!} label={`${g.stage}: ${count(g.steps)}`} what={say("steps-what")} axis={say("steps-axis")} />
          </div>
        ))}
      </div>
      {strip && (
        <>
          <h3>{say("layers-over-steps")}</h3>
          <Strip strip={strip} />
          <p class="quiet hint">{result.tables["outliers"]?.legend}.</p>
          <ReportTable name="outliers" caption={say("outliers")} />
        </>
      )}
    </Section>
  );
}

const row = 11;
const gutter = 150;

function Strip(p: { strip: LayerStrip }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { dark } = useTheme();
  const layers = list(p.strip.layers);
  const columns = list(p.strip.columns);
  const height = layers.length * row;

  useEffect(() => {
    const c = canvas.current;
    if (!c) return;
    const draw = () => drawStrip(c, p.strip, height);
    const observer = new ResizeObserver(draw);
    observer.observe(c);
    draw();
    return () => observer.disconnect();
  }, [p.strip, dark]);

  function cellAt(x: number, y: number): { layer: number; column: number } | undefined {
    const wide = (canvas.current?.clientWidth ?? 0) - gutter;
    const [layer, column] = [Math.floor(y / row), Math.floor(((x - gutter) / wide) * columns.length)];
    return layers[layer] !== undefined && columns[column] ? { layer, column } : undefined;
  }
  const stepOf = (c: StripColumn) => say("strip-step", { group: c.group, first: String(c.first), last: c.first !== c.last && String(c.last) });
  return (
    <div class="canvas-box">
      <canvas
        ref={canvas}
        id="layer-strip"
        role="img"
        aria-label={say("strip-label")}
        style={{ height: `${height}px` }}
        onPointerMove={(e) => {
          const at = cellAt(e.offsetX, e.offsetY);
          if (!at) return hideTip();
          const ns = list(list(p.strip.cells)[at.layer])[at.column]!;
          const percent = list(list(p.strip.percent)[at.layer])[at.column]!;
          showTip(e.clientX, e.clientY, [layers[at.layer]!, stepOf(columns[at.column]!), ns > 0 ? `${time(ns)}${percent > 0 ? `, ${count(percent)}\u00a0%` : ""}` : "–"]);
        }}
        onPointerLeave={hideTip}
        onClick={(e) => {
          const at = cellAt(e.offsetX, e.offsetY);
          const c = at && columns[at.column]!;
          if (c) location.hash = linkTo("timeline", "t", `${c.start_ns}-${c.end_ns}`);
        }}
      />
    </div>
  );
}

/** One row a layer, one column a step; the share of the median is the strength of the color. */
function drawStrip(c: HTMLCanvasElement, strip: LayerStrip, height: number): void {
  const g = c.getContext("2d");
  const width = c.clientWidth;
  if (!g || width === 0) return;
  const ratio = devicePixelRatio || 1;
  c.width = Math.round(width * ratio);
  c.height = Math.round(height * ratio);
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  const style = getComputedStyle(c);
  const [quiet, ground, strong] = ["--quiet", "--lane", "--warn"].map((v) => style.getPropertyValue(v).trim());
  g.font = `9px ${style.fontFamily}`;
  g.textBaseline = "middle";
  const cell = (width - gutter) / Math.max(1, list(strip.columns).length);
  list(strip.layers).forEach((layer, l) => {
    const y = l * row;
    g.globalAlpha = 1;
    g.fillStyle = quiet!;
    g.fillText(layer.length > 28 ? `…${layer.slice(-27)}` : layer, 4, y + row / 2);
    list(list(strip.percent)[l]).forEach((percent, i) => {
      const x = gutter + i * cell;
      if (list(list(strip.cells)[l])[i] === 0) return;
      g.globalAlpha = 1;
      g.fillStyle = ground!;
      g.fillRect(x, y, Math.max(cell - 0.5, 0.5), row - 1);
      g.globalAlpha = Math.max(0, Math.min(1, (percent - 100) / 100));
      g.fillStyle = strong!;
      g.fillRect(x, y, Math.max(cell - 0.5, 0.5), row - 1);
    });
  });
  g.globalAlpha = 1;
}
