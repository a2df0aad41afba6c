import { ReportTable } from "./columns";
import { sentence } from "./format";
import { list } from "./list";
import { useModel } from "./model";
import { Absent, Section, Swatch } from "./parts";
import { inkOn } from "./palette";
import type { Bound, Split, Stage, TimePart } from "./result";
import { draw, say } from "./words";

interface Part {
  id: string;
  label: string;
  ns: number;
  time: string;
  part: number; // of the wall time
  colour: string;
  idle: boolean;
  hatch?: string; // of idle time
  share: string;
}

export function useParts(split: Split): Part[] {
  const { palette } = useModel();
  const numbers = (p: TimePart) => ({ ns: p.ns, time: p.ns_text, part: p.share ?? 0, share: p.share_text ?? "" });
  return [
    ...list(split.busy).map((p) => ({ ...numbers(p), id: p.id, label: p.label || palette.label(p.id), colour: palette.category(p.id), idle: false })),
    ...list(split.idle).map((p) => ({ ...numbers(p), id: p.id, label: p.label || p.id, colour: palette.idle(p.id), idle: true, hatch: palette.hatch(p.id) })),
  ].filter((p) => p.ns > 0);
}

function named(p: Part): string {
  return p.idle ? say("split-idle", { why: p.label }) : p.label;
}

/** One bar of busy time by category, then idle time by cause, hatched. A bare one has no legend, a compact one no text either. */
export function SplitBar(p: { split: Split; compact?: boolean; bare?: boolean }) {
  const parts = useParts(p.split);
  if (parts.length === 0) return <p class="quiet">{say("split-none")}</p>;
  return (
    <>
      <div class={p.compact ? "split compact" : "split"} role="img" aria-label={parts.map((x) => `${named(x)} ${x.share}`).join("; ")}>
        {parts.map((x, i) => (
          <span
            key={i}
            class={x.hatch ? `part hatch ${x.hatch}` : "part"}
            style={{ flexGrow: x.part, backgroundColor: x.colour, color: inkOn(x.colour) }}
            title={`${named(x)}, ${x.time}, ${x.share}`}
          >
            {!p.compact && x.part > 0.09 && <span class="part-text">{x.label}</span>}
          </span>
        ))}
      </div>
      {!p.compact && !p.bare && (
        <ul class="legend">
          {parts.map((x, i) => (
            <li key={i}>
              <Swatch colour={x.colour} hatch={x.hatch} />
              {named(x)} <span class="quiet">{x.time}</span> <b>{x.share}</b>
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
    <Section id="time" title={say("time")} lead={divided ? say("time-lead") : undefined}>
      {stages.length === 0 && <Absent what={say("stages")} />}
      {stages.filter((s) => s.split.wall_ns > 0).map((s) => (
        <StageSplit key={s.name} stage={s} by={list(result.stage_regions)[stages.indexOf(s)]} />
      ))}
      {stages.length > 0 && !divided && <Absent what={say("busy-and-idle-time")} />}
      {result.scope?.split && stages.length > 1 && (
        <details>
          <summary>{say("time-scope", { name: result.scope.name })}</summary>
          <SplitBar split={result.scope.split} />
        </details>
      )}
      {result.totals.split && stages.length > 0 && result.totals.split.wall_ns > 0 && (
        <details>
          <summary>{say("time-whole")}</summary>
          <SplitBar split={result.totals.split} />
        </details>
      )}
      {stages.length > 0 && (
        <>
          <h3>{say("stage-timings")}</h3>
          <ReportTable name="stages" caption={say("stage-timings")} />
          <p class="quiet hint">{sentence(result.tables["stages"]?.legend ?? "")}.</p>
        </>
      )}
      {list(result.totals.aggregates).length > 0 && <h3>{say("aggregates")}</h3>}
      <ReportTable name="aggregates" caption={say("aggregates")} />
    </Section>
  );
}

/** What a launch-bound stage could save at most. */
function gain(b: Bound): string {
  return say("gain", { time: b.ns_text, of: b.of_ns_text, times: say(`times-${b.times}`), share: b.share_text });
}

function StageSplit(p: { stage: Stage; by: string | undefined }) {
  const { name, split, sub } = p.stage;
  return (
    <article class="stage" data-stage={name}>
      <h3>
        {name}
        {p.by && <span class="quiet"> {p.by}</span>}
      </h3>
      {split.launch_bound && (
        <p class="callout" role="note">
          <strong>{say("launch-bound")}</strong> {say("stage-launch-bound", { gain: p.stage.launch_gain && gain(p.stage.launch_gain) })}
        </p>
      )}
      <p class="numbers">
        {draw("stage-times", {
          wall: <b>{split.wall_ns_text}</b>,
          busy: <b>{split.busy_ns_text}</b>,
          busy_share: split.busy_share_text,
          idle: <b>{split.idle_ns_text}</b>,
          idle_share: split.idle_share_text,
          passes: p.stage.passes || "",
        })}
      </p>
      <SplitBar split={split} />
      {list(sub).length > 0 && (
        <p class="quiet">
          {say("stage-parts", { parts: list(sub).map((x) => `${x.name} ${x.ms_text}`).join(", ") })}
        </p>
      )}
    </article>
  );
}

