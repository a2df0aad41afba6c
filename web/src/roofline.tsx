import type { TargetedKeyboardEvent } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { announce } from "./announce";
import { columnsOf, linesOf, ReportTable } from "./columns";
import { prefixed } from "./format";
import { list } from "./list";
import { useModel, type Model } from "./model";
import { Choice, KernelLink, Section, Swatch } from "./parts";
import type { Peak, Point } from "./result";
import { fontSize, nameDots, nameSlopes, spotsOf, type Dot, type Line } from "./rooflinelabels";
import { openKernel, useKept } from "./route";
import { DataTable } from "./table";
import { hideTip, showTip } from "./tip";
import { textWidth, useWidth } from "./width";
import { say } from "./words";

const levels = ["dram", "l2", "l1"];
const levelNames: Record<string, string> = { dram: "DRAM", l2: "L2", l1: "L1" };

export function Roofline() {
  const model = useModel();
  const { roofs, points, why } = model.result.roofline;
  const all = list(points);
  const present = levels.filter((l) => all.some((p) => p.memory === l));
  const types = [...new Set(all.map((p) => p.dtype))];
  const [linked, setLevel] = useKept("roof");
  const level = present.includes(linked) ? linked : (present[0] ?? "dram");
  const [wanted, setType] = useKept("roof-type");
  const type = types.includes(wanted) ? wanted : "";
  const shown = useMemo(() => all.filter((p) => p.memory === level && (!type || p.dtype === type)), [all, level, type]);
  if (all.length === 0) {
    return (
      <Section id="roofline" title={say("roofline")}>
        <p class="quiet">{why || say("roofline-none")}</p>
        <Roofs roofs={list(roofs)} />
      </Section>
    );
  }
  return (
    <Section id="roofline" title={say("roofline")} lead={say("roofline-lead")}>
      <div class="toolbar">
        <fieldset class="choice">
          <legend>{say("memory-level")}</legend>
          {present.map((l) => (
            <label key={l}>
              <input type="radio" name="roof-level" checked={l === level} onChange={() => setLevel(l)} />
              {levelNames[l] ?? l}
            </label>
          ))}
        </fieldset>
        {types.length > 1 && <Choice label={say("environment-dtype")} value={type} choose={setType} options={types.map((t) => [t, labelOf(list(roofs), t)] as const)} />}
      </div>
      <RooflinePlot id="roofline-plot" roofs={list(roofs)} points={shown} memories={[level]} types={type ? [type] : types} />
      <CategoryLegend points={shown} />
      {why && <p class="quiet">{why}</p>}
      <p class="quiet hint">{say("roofline-note")}</p>
      <Roofs roofs={list(roofs)} />
      <details class="alternative">
        <summary>{say("points-as-table")}</summary>
        <PointTable points={all} />
      </details>
    </Section>
  );
}

function labelOf(roofs: Peak[], id: string): string {
  return roofs.find((r) => r.id === id)?.label ?? id;
}

function CategoryLegend(p: { points: Point[] }) {
  const model = useModel();
  const ids = [...new Set(p.points.map((x) => model.kernel(x.kernel)?.category ?? "other"))];
  return (
    <ul class="legend">
      {ids.map((id) => (
        <li key={id}>
          <Swatch colour={model.palette.category(id)} />
          {model.palette.label(id)}
        </li>
      ))}
    </ul>
  );
}

function Roofs(p: { roofs: Peak[] }) {
  if (p.roofs.length === 0) return null;
  return (
    <details>
      <summary>{say("roofs-from")}</summary>
      <ReportTable name="roofs" caption={say("roofs")} />
    </details>
  );
}

interface PlotProps {
  id: string;
  roofs: Peak[];
  points: Point[];
  memories: string[];
  types: string[];
  small?: boolean;
}

const margin = { left: 56, right: 16, top: 26, bottom: 40 };

/** The scatter itself, on logarithmic axes. */
export function RooflinePlot(p: PlotProps) {
  const model = useModel();
  const most = p.small ? 520 : 1200;
  const frame = useRef<HTMLDivElement>(null);
  const width = Math.max(300, Math.min(most, useWidth(frame, most)));
  const height = p.small ? 320 : Math.max(340, Math.min(460, width * 0.8));
  const holder = useRef<SVGSVGElement>(null);
  const [at, setAt] = useState(0);
  const points = useMemo(() => [...p.points].filter((x) => x.intensity > 0 && x.flops > 0).sort((a, b) => b.ns - a.ns), [p.points]);
  const memory = p.roofs.filter((r) => p.memories.includes(r.id) && r.value > 0);
  const compute = p.roofs.filter((r) => p.types.includes(r.id) && r.value > 0);
  if (points.length === 0) {
    return (
      <div ref={frame}>
        <p class="quiet">{say("roofline-no-point")}</p>
      </div>
    );
  }

  const ridges = memory.flatMap((m) => compute.map((c) => c.value / m.value));
  const xs = [...points.map((q) => q.intensity), ...ridges];
  const top = Math.max(...points.map((q) => q.flops), ...compute.map((c) => c.value));
  const low = Math.min(...points.map((q) => q.flops));
  const [x0, x1] = [Math.min(...xs) / 3, Math.max(...xs) * 4];
  const [y0, y1] = [low / 4, top * 2.2];
  const x = logScale(x0, x1, margin.left, width - margin.right);
  const y = logScale(y0, y1, height - margin.bottom, margin.top);
  const ceiling = compute.length ? Math.max(...compute.map((c) => c.value)) : top;
  const longest = Math.max(...points.map((q) => q.ns), 1);
  const radius = (q: Point) => (p.small || points.every((x) => x.ns === 0) ? 6 : 4 + 12 * Math.sqrt(q.ns / longest) * Math.max(0.5, Math.min(1, width / 900)));
  const current = Math.min(at, points.length - 1);
  const best = memory.length ? Math.max(...memory.map((m) => m.value)) : Infinity;
  const start = (c: Peak) => x(Math.max(x0, c.value / best)); // of a ceiling
  const dots = points.map((q) => ({ x: x(q.intensity), y: y(q.flops), r: radius(q), text: levelNames[q.memory] ?? q.memory }));
  const slopes = memory.map((m) => {
    const [from, to] = [Math.max(x0, y0 / m.value), Math.min(x1, ceiling / m.value)];
    return { x0: x(from), y0: y(from * m.value), x1: x(to), y1: y(to * m.value), text: `${p.small ? (levelNames[m.id] ?? m.label) : m.label} ${m.value_text}` };
  });
  const names = nameAll(slopes, dots, placeLabels(compute, y, start, width - margin.right - 4, dots), { x0: margin.left, y0: margin.top, x1: width, y1: height - margin.bottom }, p.small ?? false);

  function onKey(e: TargetedKeyboardEvent<SVGGElement>, i: number) {
    const steps: Record<string, number> = { ArrowRight: i + 1, ArrowDown: i + 1, ArrowLeft: i - 1, ArrowUp: i - 1, Home: 0, End: points.length - 1 };
    const to = steps[e.key];
    if (to !== undefined) {
      e.preventDefault();
      const next = Math.max(0, Math.min(points.length - 1, to));
      setAt(next);
      holder.current?.querySelector<SVGElement>(`[data-point="${next}"]`)?.focus();
      announce(describe(model, p.roofs, points[next]!).join(", "));
    } else if (e.key === "Enter" || e.key === " ") {
      e.preventDefault();
      openKernel(points[i]!.kernel);
    }
  }
  return (
    <div ref={frame} class={p.small ? "plot" : "plot wide"}>
      <svg ref={holder} id={p.id} viewBox={`0 0 ${width} ${height}`} role="group" aria-label={say("roofline-label")}>
        {powers(x0, x1, (width - margin.left) / 48).map((v) => (
          <g key={v} class="tick">
            <line x1={x(v)} x2={x(v)} y1={margin.top} y2={height - margin.bottom} />
            <text x={x(v)} y={height - margin.bottom + 16} text-anchor="middle">
              {tickText(v)}
            </text>
          </g>
        ))}
        {powers(y0, y1, 10).map((v) => (
          <g key={v} class="tick">
            <line x1={margin.left} x2={width - margin.right} y1={y(v)} y2={y(v)} />
            <text x={margin.left - 8} y={y(v) + 4} text-anchor="end">
              {tickRate(v)}
            </text>
          </g>
        ))}
        <text class="axis" x={8} y={14}>
          {say("roofline-y")}
        </text>
        <text class="axis" x={(margin.left + width - margin.right) / 2} y={height - 6} text-anchor="middle">
          {say("roofline-x")}
        </text>
        {memory.map((m, i) => (
          <g key={m.id} class={m.measured ? "roof" : "roof assumed"}>
            <line x1={slopes[i]!.x0} y1={slopes[i]!.y0} x2={slopes[i]!.x1} y2={slopes[i]!.y1} />
          </g>
        ))}
        {compute.map((c) => (
          <g key={c.id} class={c.measured ? "roof" : "roof assumed"}>
            <line x1={start(c)} x2={x(x1)} y1={y(c.value)} y2={y(c.value)} />
          </g>
        ))}
        {points.map((q, i) => {
          const kernel = model.kernel(q.kernel);
          return (
            <g
              key={i}
              class="point"
              data-point={i}
              role="link"
              tabIndex={i === current ? 0 : -1}
              aria-label={describe(model, p.roofs, q).join(", ")}
              onKeyDown={(e) => onKey(e, i)}
              onFocus={() => setAt(i)}
              onClick={() => openKernel(q.kernel)}
              onPointerMove={(e) => showTip(e.clientX, e.clientY, describe(model, p.roofs, q))}
              onPointerLeave={hideTip}
            >
              <circle cx={x(q.intensity)} cy={y(q.flops)} r={radius(q)} fill={model.palette.category(kernel?.category ?? "other")} />
            </g>
          );
        })}
        {[...names.slopes, ...names.dots].map((l, i) => (
          <text key={i} class={i < names.slopes.length ? "roof-label" : "point-label"} transform={`translate(${l.x} ${l.y}) rotate(${l.angle})`} text-anchor="middle">
            {l.text}
          </text>
        ))}
        {names.ceilings.map((l) => (
          <text key={l.roof.id} class="roof-label" x={l.x} y={l.y} text-anchor="end">
            {l.text}
          </text>
        ))}
      </svg>
    </div>
  );
}

function describe(model: Model, roofs: Peak[], q: Point): string[] {
  const k = model.kernel(q.kernel);
  return [
    k ? model.label(k) : q.kernel,
    say("point-rate", { rate: q.flops_text, intensity: q.intensity_text, memory: levelNames[q.memory] ?? q.memory }),
    say("point-roof", { share: q.attained_text, roof: labelOf(roofs, q.dtype) }),
    say("point-time", { time: q.ns > 0 ? q.ns_text : say("not-in-timeline"), limiter: k?.limiter.kind && k.limiter.label }),
    ...(k ? [say("grid-block", { grid: k.grid.join("×"), block: k.block.join("×") })] : []),
  ];
}

/** Places every text of the plot; on the page of a kernel its points are named. */
function nameAll(slopes: (Line & { text: string })[], dots: (Dot & { text: string })[], ceilings: Placed[], box: Line, small: boolean) {
  const taken = ceilings.flatMap((l) => spotsOf({ text: l.text, angle: 0, x: l.x - textWidth(l.text, fontSize) / 2, y: l.y }));
  const named = nameSlopes(slopes, dots, taken, box);
  return { ceilings, slopes: named, dots: small ? nameDots(dots, slopes, taken, box).filter((l) => l !== null) : [] };
}

interface Placed {
  roof: Peak;
  text: string;
  x: number; // where it ends
  y: number;
}

/** Places the names of ceilings: at the right above their line where neither a dot nor another name is, else further left, else below. */
function placeLabels(roofs: Peak[], y: (v: number) => number, left: (roof: Peak) => number, right: number, dots: { x: number; y: number; r: number }[]): Placed[] {
  const out: Placed[] = [];
  for (const roof of [...roofs].sort((a, b) => b.value - a.value)) {
    const text = `${roof.label} ${roof.value_text}`;
    const width = text.length * 6;
    const free = (x: number, at: number) =>
      !dots.some((d) => d.x + d.r > x - width - 2 && d.x - d.r < x + 2 && d.y + d.r > at - 12 && d.y - d.r < at + 4) &&
      !out.some((o) => o.x > x - width && o.x - o.text.length * 6 < x && Math.abs(o.y - at) < 13);
    const line = y(roof.value);
    let best = { x: right, y: Math.max(line - 5, (out.at(-1)?.y ?? -Infinity) + 13) };
    search: for (const at of [line - 5, line + 14, line + 27, line + 40]) {
      for (let x = right; x === right || x - width >= left(roof); x -= 6) {
        if (!free(x, at)) continue;
        best = { x, y: at };
        break search;
      }
    }
    out.push({ roof, text, ...best });
  }
  return out;
}

/** Maps low..high onto from..to by their logarithms. */
function logScale(low: number, high: number, from: number, to: number): (v: number) => number {
  const start = Math.log(low);
  const factor = (to - from) / (Math.log(high) - start);
  return (v) => from + (Math.log(v) - start) * factor;
}

/** The powers of ten between low and high, about most of them. */
function powers(low: number, high: number, most: number): number[] {
  const from = Math.ceil(Math.log10(low));
  const to = Math.floor(Math.log10(high));
  const step = Math.max(1, Math.ceil((to - from) / Math.min(10, most)));
  const out = [];
  for (let e = from; e <= to; e += step) out.push(10 ** e);
  return out;
}

function tickText(v: number): string {
  return v >= 1 ? v.toLocaleString("en") : String(Number(v.toPrecision(1)));
}

/** A power of ten with its prefix; the axis names the unit. */
function tickRate(v: number): string {
  return prefixed(v, "").replace(/\.0+(?=\s|$)/, "");
}

function PointTable(p: { points: Point[] }) {
  const model = useModel();
  const table = model.result.tables["roofline"];
  const kernel = (at: number) => model.kernel(p.points[at]?.kernel ?? "");
  return (
    <DataTable
      id="point-table"
      caption={say("points")}
      rows={linesOf(table)}
      rowKey={(l) => l.at}
      sort="kernel_total_ns"
      minWidth={52}
      open={(l) => openKernel(p.points[l.at]!.kernel)}
      columns={columnsOf(table, {
        short_name: { cell: (at, text) => (kernel(at) ? <KernelLink kernel={kernel(at)!} inRow /> : text) },
        dtype: { width: 8 },
        memory: { width: 6 },
        flop_per_s: { width: 6.5 },
        limiter: { width: 9 },
        grid: { width: 5.5 },
      })}
    />
  );
}
