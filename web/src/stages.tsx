import { bytes, bytesAt, digits, milliseconds, percent, plural, prefixed, time } from "./format";
import { list } from "./list";
import { useModel } from "./model";
import { Absent, Section, Swatch } from "./parts";
import { inkOn } from "./palette";
import type { Bound, Aggregate, Split, Stage } from "./result";

interface Part {
  id: string;
  label: string;
  ns: number;
  colour: string;
  idle: boolean;
  share: string;
}

function useParts(split: Split): Part[] {
  const { palette } = useModel();
  const share = (ns: number) => percent(ns / Math.max(1, split.wall_ns));
  return [
    ...list(split.busy).map((p) => ({ id: p.id, label: p.label || palette.label(p.id), ns: p.ns, colour: palette.category(p.id), idle: false, share: share(p.ns) })),
    ...list(split.idle).map((p) => ({ id: p.id, label: p.label || p.id, ns: p.ns, colour: palette.idle(p.id), idle: true, share: share(p.ns) })),
  ].filter((p) => p.ns > 0);
}

/** One bar of busy time by category, then idle time by cause, hatched. */
export function SplitBar(p: { split: Split; compact?: boolean }) {
  const parts = useParts(p.split);
  const wall = Math.max(1, p.split.wall_ns);
  if (parts.length === 0) return <p class="quiet">No time to divide.</p>;
  return (
    <>
      <div class={p.compact ? "split compact" : "split"} role="img" aria-label={parts.map((x) => `${x.idle ? "idle, " : ""}${x.label} ${x.share}`).join("; ")}>
        {parts.map((x, i) => (
          <span
            key={i}
            class={x.idle ? "part hatch" : "part"}
            style={{ flexGrow: x.ns / wall, backgroundColor: x.colour, color: inkOn(x.colour) }}
            title={`${x.idle ? "Idle: " : ""}${x.label}, ${time(x.ns)}, ${x.share}`}
          >
            {!p.compact && x.ns / wall > 0.09 && <span class="part-text">{x.label}</span>}
          </span>
        ))}
      </div>
      {!p.compact && (
        <ul class="legend">
          {parts.map((x, i) => (
            <li key={i}>
              <Swatch colour={x.colour} hatch={x.idle} />
              {x.idle ? "idle: " : ""}
              {x.label} <span class="quiet">{time(x.ns)}</span> <b>{x.share}</b>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

export function Stages() {
  const { result } = useModel();
  const stages = list(result.stages);
  const divided = stages.some((s) => s.split.wall_ns > 0);
  return (
    <Section id="time" title="Where the time goes" lead={divided ? "Wall time of each stage under nsys: kernels run, by category, and no kernel runs (hatched), by cause. Copies are such a cause; GPU busy above counts them as work." : undefined}>
      {stages.length === 0 && <Absent what="Stages" />}
      {stages.filter((s) => s.split.wall_ns > 0).map((s) => (
        <StageSplit key={s.name} stage={s} />
      ))}
      {stages.length > 0 && !divided && <Absent what="Busy and idle time" />}
      {result.scope?.split && stages.length > 1 && (
        <details>
          <summary>The scope as a whole: {result.scope.name}</summary>
          <SplitBar split={result.scope.split} />
        </details>
      )}
      {result.totals.split && stages.length > 0 && result.totals.split.wall_ns > 0 && (
        <details>
          <summary>The whole capture, with what lies outside the stages</summary>
          <SplitBar split={result.totals.split} />
        </details>
      )}
      {stages.length > 0 && <Timings stages={stages} />}
      <Aggregates rows={list(result.totals.aggregates)} />
    </Section>
  );
}

function listed(names: string[]): string {
  return names.length > 4 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
}

/** What a launch-bound stage could save at most. */
function gain(b: Bound): string {
  return `${time(b.ns)} of ${time(b.of_ns)} ${b.times === "clean" ? "in the unprofiled run" : "under nsys"} (${percent(b.ns / Math.max(1, b.of_ns))})`;
}

function StageSplit(p: { stage: Stage }) {
  const { name, region, split, sub } = p.stage;
  const regions = list(p.stage.regions);
  const wall = Math.max(1, split.wall_ns);
  return (
    <article class="stage" data-stage={name}>
      <h3>
        {name}
        {regions.length > 1 ? <span class="quiet"> the sum of {listed(regions)}</span> : region && region !== name && <span class="quiet"> measured by {region}</span>}
      </h3>
      {split.launch_bound && (
        <p class="callout" role="note">
          <strong>Launch-bound.</strong> The GPU waits for the host more than it works.
          {p.stage.launch_gain ? ` Closing the launch gaps could save at most ${gain(p.stage.launch_gain)}.` : ""} Fix the launch gaps first; tuning kernels will not help yet.
        </p>
      )}
      <p class="numbers">
        <b>{time(split.wall_ns)}</b> wall under nsys; a kernel runs in <b>{time(split.busy_ns)}</b> ({percent(split.busy_ns / wall)}), none in <b>{time(split.idle_ns)}</b> ({percent(split.idle_ns / wall)})
        {p.stage.passes ? `, over ${p.stage.passes} ${p.stage.passes === 1 ? "pass" : "passes"} in the timeline` : ""}
      </p>
      <SplitBar split={split} />
      {list(sub).length > 0 && (
        <p class="quiet">
          Parts of this stage, already inside it:{" "}
          {list(sub)
            .map((x) => `${x.name} ${milliseconds(x.ms)}`)
            .join(", ")}
        </p>
      )}
    </article>
  );
}

function Timings(p: { stages: Stage[] }) {
  const clean = p.stages.some((s) => s.clean_ms != null);
  const work = p.stages.some((s) => s.flops != null || s.bytes != null);
  const tokens = p.stages.some((s) => s.tokens_per_s != null);
  return (
    <>
      <h3>Timings per pass</h3>
      <div class="scroll" role="region" aria-label="Timings per stage" tabIndex={0}>
        <table class="data">
          <caption class="unseen">Timings per stage</caption>
          <thead>
            <tr>
              <th scope="col">Stage</th>
              {clean && <th scope="col" class="num">Unprofiled</th>}
              <th scope="col" class="num">Under nsys</th>
              {clean && <th scope="col" class="num">Overhead</th>}
              {tokens && <th scope="col" class="num">Tokens/s</th>}
              {work && <th scope="col" class="num">FLOPs by analysis</th>}
              {work && <th scope="col" class="num">Bytes by analysis</th>}
              <th scope="col" class="num">Passes</th>
            </tr>
          </thead>
          <tbody>
            {p.stages.map((s) => (
              <tr key={s.name}>
                <th scope="row" title={s.name}>{s.name}</th>
                {clean && <td class="num">{s.clean_ms != null ? `${milliseconds(s.clean_ms)}${s.clean_std_ms != null ? ` ± ${milliseconds(s.clean_std_ms)}` : ""}` : "–"}</td>}
                <td class="num">{s.nsys_ms != null ? milliseconds(s.nsys_ms) : "–"}</td>
                {clean && <td class="num">{s.overhead != null ? percent(s.overhead) : s.overhead_why ? <span title={s.overhead_why}>{s.overhead_why_short ?? "not told"}</span> : "–"}</td>}
                {tokens && <td class="num">{s.tokens_per_s != null ? digits(s.tokens_per_s) : "–"}</td>}
                {work && <td class="num">{s.flops != null ? prefixed(s.flops, "FLOP") : "–"}</td>}
                {work && <td class="num">{s.bytes != null ? bytes(s.bytes) : "–"}</td>}
                <td class="num">{s.passes ?? "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <OwnClock stages={p.stages} />
    </>
  );
}

/** Why the time of a stage under nsys is not that of its NVTX range, where the two differ. */
function OwnClock(p: { stages: Stage[] }) {
  const range = (s: Stage) => s.split.wall_ns / (s.passes ?? 1);
  const apart = p.stages.filter((s) => s.nsys_ms != null && s.nsys_clock !== "range" && (s.passes ?? 0) > 0 && s.split.wall_ns > 0 && Math.abs(range(s) - s.nsys_ms * 1e6) > 0.001 * range(s));
  if (apart.length === 0) return null;
  return (
    <p class="quiet hint" id="own-clock">
      Times per pass are by the session's own clock, from the first to the last mark of a pass. The NVTX range, which the bars above divide, also holds what the program does around these marks, such as starting and synchronising. A pass of the range under nsys:{" "}
      {apart.map((s) => `${s.name} ${time(range(s))}`).join(", ")}.
    </p>
  );
}

const aggregateNames: Record<string, string> = {
  prefill_ms: "Prefill",
  decode_ms: "Decode",
  ttft_ms: "Time to first token",
  token_ms: "Time per token",
  tokens_per_s: "Throughput",
  images_per_s: "Throughput",
  forward_ms: "Forward pass",
};

function aggregateName(name: string): string {
  const words = name.replace(/_(ms|bytes|per_s)$/, "").replaceAll("_", " ");
  return aggregateNames[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** The unit of a row, and its values in it; the spread is left out where there is none. */
function aggregateRow(a: Aggregate, columns: (keyof Aggregate)[]): { unit: string; values: string[] } {
  const { factor, unit } = a.unit === "byte" ? bytesAt(a.mean) : { factor: 1, unit: a.unit };
  return { unit, values: columns.map((c) => (c === "std" && a.std === 0 ? "" : digits((a[c] as number) / factor))) };
}

function Aggregates(p: { rows: Aggregate[] }) {
  if (p.rows.length === 0) return null;
  const columns: (keyof Aggregate)[] = ["mean", "std", "min", "p50", "p90", "p99", "max"];
  return (
    <>
      <h3>Aggregates of the unprofiled run</h3>
      <div class="scroll" role="region" aria-label="Aggregates of the unprofiled run" tabIndex={0}>
        <table class="data">
          <caption class="unseen">Aggregates of the unprofiled run</caption>
          <thead>
            <tr>
              <th scope="col">Measure</th>
              <th scope="col">Unit</th>
              <th scope="col" class="num">n</th>
              {columns.map((c) => (
                <th key={c} scope="col" class="num">
                  {c}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {p.rows.map((a) => {
              const { unit, values } = aggregateRow(a, columns);
              return (
                <tr key={a.name}>
                  <th scope="row">{aggregateName(a.name)}</th>
                  <td>{unit}</td>
                  <td class="num">{a.name === "token_ms" ? plural(a.n, "token") : a.n}</td>
                  {values.map((v, i) => (
                    <td key={i} class="num">
                      {v}
                    </td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </>
  );
}
