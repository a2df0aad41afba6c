import { useEffect, useRef } from "preact/hooks";
import { fit, widthOf } from "./canvastext";
import { ReportTable } from "./columns";
import { count, time } from "./format";
import { HistogramPlot } from "./histogram";
import { list } from "./list";
import { useModel } from "./model";
import { Section } from "./parts";
import type { LayerStrip, StripColumn } from "./result";
import { linkTo } from "./route";
import { EngineSteps } from "./serving";
import { useTheme } from "./theme";
import { hideTip, showTip } from "./tip";
import { say } from "./words";

/** How the steps of the timeline differ: durations by kind, and layers that took longer than usual. */
export function Steps() {
  const { result } = useModel();
  const served = list(result.serving?.steps).length > 0;
  if (!result.steps && !served) return null;
  const plots = list(result.steps?.groups).filter((g) => g.histogram);
  const strip = result.steps?.strip;
  return (
    <Section id="steps" title={say("steps")}>
      {served ? (
        <EngineSteps />
      ) : (
        <>
          <ReportTable name="steps" caption={say("steps-table")} />
          <div class="columns histograms">
            {plots.map((g) => (
              <div key={g.stage} class="step-histogram">
                <h3>{g.stage}</h3>
                <HistogramPlot histogram={g.histogram!} label={`${g.stage}: ${count(g.steps)}`} what={say("steps-what")} axis={say("steps-axis")} />
              </div>
            ))}
          </div>
        </>
      )}
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

const axis = 34; // below the rows: numbers of steps, and of what they are
const widest = 220; // of the names

/** A row is as high as its name, unless there are very many. */
function rowOf(layers: string[]): number {
  return layers.length > 64 ? 11 : 16;
}

/** The names less the parts that all begin with. */
function ownNames(layers: string[]): string[] {
  const parts = layers.map((l) => l.split("."));
  let common = 0;
  while (parts.every((p) => p.length > common + 1 && p[common] === parts[0]![common])) common++;
  return parts.map((p) => p.slice(common).join("."));
}

function Strip(p: { strip: LayerStrip }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const gutter = useRef(widest);
  const { dark } = useTheme();
  const layers = list(p.strip.layers);
  const columns = list(p.strip.columns);
  const row = rowOf(layers);
  const height = layers.length * row + axis;

  useEffect(() => {
    const c = canvas.current;
    if (!c) return;
    const draw = () => void (gutter.current = drawStrip(c, p.strip, height));
    const observer = new ResizeObserver(draw);
    observer.observe(c);
    draw();
    return () => observer.disconnect();
  }, [p.strip, dark]);

  function cellAt(x: number, y: number): { layer: number; column: number } | undefined {
    const wide = (canvas.current?.clientWidth ?? 0) - gutter.current;
    const [layer, column] = [Math.floor(y / row), Math.floor(((x - gutter.current) / wide) * columns.length)];
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

/** One row a layer, one column a step; the share of the median is the strength of the color. Returns where the columns begin. */
function drawStrip(c: HTMLCanvasElement, strip: LayerStrip, height: number): number {
  const g = c.getContext("2d");
  const width = c.clientWidth;
  if (!g || width === 0) return widest;
  const ratio = devicePixelRatio || 1;
  c.width = Math.round(width * ratio);
  c.height = Math.round(height * ratio);
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  const style = getComputedStyle(c);
  const [ink, ground, strong] = ["--ink", "--lane", "--warn"].map((v) => style.getPropertyValue(v).trim());
  const names = ownNames(list(strip.layers));
  const row = rowOf(names);
  const every = row < 14 ? 2 : 1; // a name needs 14 pixels
  g.font = `12px ${style.fontFamily}`;
  g.textBaseline = "middle";
  const gutter = Math.min(widest, Math.ceil(Math.max(...names.map((n) => widthOf(g, n)))) + 12);
  const columns = list(strip.columns);
  const cell = (width - gutter) / Math.max(1, columns.length);
  names.forEach((name, l) => {
    const y = l * row;
    g.globalAlpha = 1;
    g.fillStyle = ink!;
    if (l % every === 0) g.fillText(fit(g, name, gutter - 8), 4, y + row / 2);
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
  g.fillStyle = ink!;
  drawSteps(g, columns, { gutter, cell, width, y: names.length * row });
  return gutter;
}

/** The axis: the number of every so many steps, and where a kind of steps begins its name. */
function drawSteps(g: CanvasRenderingContext2D, columns: StripColumn[], at: { gutter: number; cell: number; width: number; y: number }): void {
  const every = niceStep(56 / at.cell);
  let free = at.gutter;
  let named = at.gutter;
  g.textAlign = "left";
  columns.forEach((c, i) => {
    const x = at.gutter + i * at.cell;
    const begins = i === 0 || columns[i - 1]!.group !== c.group;
    if (begins && x >= named) {
      const name = fit(g, say("strip-axis", { group: c.group }), at.width - x);
      g.fillText(name, x, at.y + 26);
      named = x + widthOf(g, name) + 12;
    }
    const text = String(c.first);
    if ((!begins && c.first % every !== 0) || x < free || x + widthOf(g, text) > at.width) return;
    g.fillRect(x, at.y, 1, 4);
    g.fillText(text, x + 2, at.y + 11);
    free = x + widthOf(g, text) + 14;
  });
}

/** 1, 2 or 5 times a power of ten, at least so many. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least) ?? 1;
}
