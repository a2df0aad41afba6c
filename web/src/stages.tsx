import { ReportTable } from "./columns";
import { sentence } from "./format";
import { list } from "./list";
import { useModel } from "./model";
import { Absent, Section, Swatch } from "./parts";
import { inkOn } from "./palette";
import type { Bound, Split, Stage, TimePart } from "./result";

interface Part {
  id: string;
  label: string;
  ns: number;
  time: string;
  part: number; // of the wall time
  colour: string;
  idle: boolean;
  share: string;
}

export function useParts(split: Split): Part[] {
  const { palette } = useModel();
  const numbers = (p: TimePart) => ({ ns: p.ns, time: p.ns_text, part: p.share ?? 0, share: p.share_text ?? "" });
  return [
    ...list(split.busy).map((p) => ({ ...numbers(p), id: p.id, label: p.label || palette.label(p.id), colour: palette.category(p.id), idle: false })),
    ...list(split.idle).map((p) => ({ ...numbers(p), id: p.id, label: p.label || p.id, colour: palette.idle(p.id), idle: true })),
  ].filter((p) => p.ns > 0);
}

/** One bar of busy time by category, then idle time by cause, hatched. A bare one has no legend, a compact one no text either. */
export function SplitBar(p: { split: Split; compact?: boolean; bare?: boolean }) {
  const parts = useParts(p.split);
  if (parts.length === 0) return <p class="quiet">No time to divide.</p>;
  return (
    <>
      <div class={p.compact ? "split compact" : "split"} role="img" aria-label={parts.map((x) => `${x.idle ? "idle, " : ""}${x.label} ${x.share}`).join("; ")}>
        {parts.map((x, i) => (
          <span
            key={i}
            class={x.idle ? "part hatch" : "part"}
            style={{ flexGrow: x.part, backgroundColor: x.colour, color: inkOn(x.colour) }}
            title={`${x.idle ? "Idle: " : ""}${x.label}, ${x.time}, ${x.share}`}
          >
            {!p.compact && x.part > 0.09 && <span class="part-text">{x.label}</span>}
          </span>
        ))}
      </div>
      {!p.compact && !p.bare && (
        <ul class="legend">
          {parts.map((x, i) => (
            <li key={i}>
              <Swatch colour={x.colour} hatch={x.idle} />
              {x.idle ? "idle: " : ""}
              {x.label} <span class="quiet">{x.time}</span> <b>{x.share}</b>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

export function Stages() {
  const { result, timed } = useModel();
  const stages = list(result.stages);
  if (stages.length === 0 && !timed) return null; // the first screen says why
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
      {stages.length > 0 && (
        <>
          <h3>Timings per stage</h3>
          <ReportTable name="stages" caption="Timings per stage" />
          <p class="quiet hint">{sentence(result.tables["stages"]?.legend ?? "")}.</p>
        </>
      )}
      {list(result.totals.aggregates).length > 0 && <h3>Aggregates of the unprofiled run</h3>}
      <ReportTable name="aggregates" caption="Aggregates of the unprofiled run" />
    </Section>
  );
}

function listed(names: string[]): string {
  return names.length > 4 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
}

/** What a launch-bound stage could save at most. */
function gain(b: Bound): string {
  return `${b.ns_text} of ${b.of_ns_text} ${b.times === "clean" ? "in the unprofiled run" : "under nsys"} (${b.share_text})`;
}

function StageSplit(p: { stage: Stage }) {
  const { name, region, split, sub } = p.stage;
  const regions = list(p.stage.regions);
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
        <b>{split.wall_ns_text}</b> wall under nsys; a kernel runs in <b>{split.busy_ns_text}</b> ({split.busy_share_text}), none in <b>{split.idle_ns_text}</b> ({split.idle_share_text})
        {p.stage.passes ? `, over ${p.stage.passes} ${p.stage.passes === 1 ? "pass" : "passes"} in the timeline` : ""}
      </p>
      <SplitBar split={split} />
      {list(sub).length > 0 && (
        <p class="quiet">
          Parts of this stage, already inside it:{" "}
          {list(sub)
            .map((x) => `${x.name} ${x.ms_text}`)
            .join(", ")}
        </p>
      )}
    </article>
  );
}

