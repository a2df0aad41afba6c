import { linesOf, ReportTable } from "./columns";
import { count, sentence, stop } from "./format";
import { HistogramPlot } from "./histogram";
import { list } from "./list";
import { useModel, type StepTokens } from "./model";
import { Section, Swatch } from "./parts";
import type { NextToken, StepsAt } from "./result";
import { hideTip, showTip } from "./tip";
import { say } from "./words";

/** What the clients of a server saw in each window, and where the time of the next token goes. */
export function Requests() {
  const { result } = useModel();
  const table = result.tables["requests"];
  if (linesOf(table).length === 0 && !result.serving?.next_token) return null;
  return (
    <Section id="requests" title={say("requests-short")} lead={linesOf(table).length > 0 && stop(sentence(table!.legend!))}>
      <ReportTable name="requests" caption={say("requests-table")} />
      {list(table?.notes).length > 0 && (
        <ul class="notes quiet" id="request-notes">
          {list(table?.notes).map((n, i) => (
            <li key={i}>{n}</li>
          ))}
        </ul>
      )}
      {result.serving?.next_token && <NextTokenBar next={result.serving.next_token} />}
    </Section>
  );
}

/** The colors of parts, as those of kinds of work; idle ones are hatched. */
const parts: Record<string, [kind: string, idle?: boolean]> = {
  busy: ["gemm"],
  idle: ["launch", true],
  mixed: ["normalisation"],
  prefill: ["elementwise"],
  gap: ["sync", true],
  other: ["other"],
};

function NextTokenBar(p: { next: NextToken }) {
  const { result, palette } = useModel();
  const shown = list(result.next_token_parts).map(({ part, mean_ns, label, share_text }) => {
    const [kind, idle] = parts[part] ?? ["other"];
    return { id: part, ns: mean_ns, label, share: share_text, colour: idle ? palette.idle(kind) : palette.category(kind), hatch: idle ? palette.hatch(kind) : undefined };
  });
  return (
    <>
      <h3>{say("next-token", { time: p.next.period_ns_text })}</h3>
      <div class="split" id="next-token" role="img" aria-label={shown.map((x) => `${x.label} ${x.share}`).join("; ")}>
        {shown.map((x) => (
          <span key={x.id} class={x.hatch ? `part hatch ${x.hatch}` : "part"} style={{ flexGrow: x.ns, backgroundColor: x.colour }} title={`${x.label}, ${x.share}`} />
        ))}
      </div>
      <ul class="legend">
        {shown.map((x) => (
          <li key={x.id}>
            <Swatch colour={x.colour} hatch={x.hatch} />
            {x.label} <b>{x.share}</b>
          </li>
        ))}
      </ul>
      <details class="alternative">
        <summary>{say("as-table")}</summary>
        <ReportTable name="next_token" caption={say("next-token-table")} />
      </details>
    </>
  );
}

const plotted = 4; // kinds of steps with histograms: those with most time

/** The steps of a serving engine by kind and batch size: as a table, as distributions, over time, and what they are made of. */
export function EngineSteps() {
  const { result } = useModel();
  const steps = list(result.serving?.steps);
  const names = linesOf(result.tables["engine_steps"]).map((l) => say("step-kind", { kind: l.cells[0]!.t, batch: l.cells[1]!.t }));
  const drawn = steps.map((s, i) => ({ s, name: names[i]! })).filter(({ s }) => s.time_histogram || s.busy_histogram || s.gap_histogram);
  return (
    <>
      <ReportTable name="engine_steps" caption={say("engine-steps")} />
      {drawn.slice(0, plotted).map(({ s, name }) => (
        <div key={name} class="step-kind">
          <h3>{name}</h3>
          <div class="columns histograms three">
            {([[s.time_histogram, say("steps-axis")], [s.busy_histogram, say("busy-axis")], [s.gap_histogram, say("gap-axis")]] as const).map(
              ([h, axis]) =>
                h && (
                  <div key={axis} class="step-histogram">
                    <HistogramPlot histogram={h} label={`${name}, ${axis}`} what={say("steps-what")} axis={axis} width={340} />
                  </div>
                ),
            )}
          </div>
        </div>
      ))}
      <OverTime steps={list(result.serving?.over_time)} />
      <Parts name="step_kernels" title={say("step-kernels")} />
      <Parts name="step_layers" title={say("step-layers")} />
    </>
  );
}

/** What each kind of step is made of; nothing where that is not known. */
function Parts(p: { name: string; title: string }) {
  const { result } = useModel();
  const table = result.tables[p.name];
  if (linesOf(table).length === 0) return null;
  return (
    <>
      <h3>{p.title}</h3>
      <p class="quiet hint">{stop(sentence(table!.legend!))}</p>
      <ReportTable name={p.name} caption={p.title} />
    </>
  );
}

/** What is drawn over time: the height of each bar in parts, and the text of its value. */
interface Measure {
  id: string;
  of: (s: StepsAt, tokens: StepTokens | undefined) => number[];
  text: (s: StepsAt) => string;
  legend?: () => string[];
}

const measures: Measure[] = [
  {
    id: "tokens",
    of: (_, tokens) => (tokens ? [tokens.decode, tokens.prompt] : []),
    text: (s) => say("tokens-in-steps", { prompt: s.context_tokens, decode: s.generation_tokens, n: s.steps }),
    legend: () => [say("decode-tokens"), say("prompt-tokens")],
  },
  { id: "time", of: (s) => [s.step_mean_ns], text: (s) => s.step_mean_ns_text },
  { id: "busy", of: (s) => [s.busy_share], text: (s) => s.busy_share_text },
  { id: "gap", of: (s) => [s.gap_before_mean_ns], text: (s) => s.gap_before_mean_ns_text },
];

function OverTime(p: { steps: StepsAt[] }) {
  if (p.steps.length < 2) return null;
  return (
    <>
      <h3>{say("over-time")}</h3>
      <div class="columns over-time">
        {measures.map((m) => (
          <Bars key={m.id} steps={p.steps} measure={m} />
        ))}
      </div>
      <details class="alternative">
        <summary>{say("as-table")}</summary>
        <ReportTable name="steps_over_time" caption={say("over-time")} />
      </details>
    </>
  );
}

const [width, height, top, bottom, apart] = [520, 130, 20, 26, 14];

/** One bar for each interval of each window; the windows stand side by side. */
function Bars(p: { steps: StepsAt[]; measure: Measure }) {
  const { palette, result } = useModel();
  const tokens = list(result.step_tokens);
  const values = p.steps.map((s, i) => p.measure.of(s, tokens[i]));
  const heights = values.map((v) => v.reduce((a, b) => a + b, 0));
  const most = Math.max(...heights);
  const highest = heights.indexOf(most);
  const windows = [...new Set(p.steps.map((s) => s.window))];
  const room = (width - apart * (windows.length - 1)) / windows.length;
  const ends = new Map(windows.map((w) => [w, Math.max(...p.steps.filter((s) => s.window === w).map((s) => s.start_ns + s.length_ns))]));
  const left = (w: number) => windows.indexOf(w) * (room + apart);
  const floor = height - bottom;
  const colours = [palette.category("gemm"), palette.category("elementwise")];
  const legend = p.measure.legend;
  return (
    <figure class="plot" data-measure={p.measure.id}>
      <figcaption>
        {say(`over-time-${p.measure.id}`)}
        {legend?.().map((text, i) => (
          <span key={i} class="legend-item">
            <Swatch colour={colours[i]!} /> {text}
          </span>
        ))}
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={say("over-time-label", { what: say(`over-time-${p.measure.id}`), most: p.measure.text(p.steps[highest]!) })}>
        <text x={0} y={12}>
          {say("over-time-most", { most: legend ? count(tokens[highest]?.total ?? 0) : p.measure.text(p.steps[highest]!) })}
        </text>
        {windows.map((w) => (
          <g key={w}>
            <line class="base" x1={left(w)} x2={left(w) + room} y1={floor} y2={floor} />
            <text x={left(w)} y={floor + 16}>
              {w > 0 ? say("window-number", { n: w }) : ""}
            </text>
          </g>
        ))}
        {p.steps.map((s, i) => {
          const x = left(s.window) + (s.start_ns / ends.get(s.window)!) * room;
          const wide = Math.max(1, (s.length_ns / ends.get(s.window)!) * room - 1);
          let below = floor;
          return (
            <g key={i} class="bar" onPointerMove={(e) => showTip(e.clientX, e.clientY, [p.measure.text(s), `${s.start_ns_text}, ${say("n-steps", { n: s.steps })}`])} onPointerLeave={hideTip}>
              <rect class="catch" x={x} y={top} width={wide} height={floor - top} />
              {values[i]!.map((v, j) => {
                const h = most > 0 ? (v / most) * (floor - top) : 0;
                below -= h;
                return <rect key={j} x={x} y={below} width={wide} height={h} style={{ fill: colours[j] }} />;
              })}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
