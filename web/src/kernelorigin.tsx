import { SmallTable } from "./columns";
import { list } from "./list";
import { useModel } from "./model";
import { Breakable, Meter } from "./parts";
import type { Kernel, LaunchPlace, StageTime } from "./result";
import { say } from "./words";

/** Cells of the stages and places of a kernel. */
const drawn = {
  stage: (s: StageTime | LaunchPlace) => s.stage || say("outside-stages"),
  share: (s: StageTime | LaunchPlace) => s.share != null && <Meter share={s.share} label={s.share_text} />,
};

export function StageTable(p: { kernel: Kernel }) {
  return (
    <section aria-labelledby="kernel-stages">
      <h2 id="kernel-stages">{say("stages")}</h2>
      <SmallTable view="kernel_stages" caption={say("time-by-stage")} rows={list(p.kernel.stages)} draw={drawn} />
    </section>
  );
}

/** The modules, ranges and operators that launch a kernel. */
export function LaunchedFrom(p: { kernel: Kernel }) {
  const { result } = useModel();
  const places = list(p.kernel.places);
  const operators = list(result.operators).flatMap((o) =>
    list(o.links)
      .filter((l) => l.kernel === p.kernel.id)
      .map((l) => ({ name: o.name, through: l.by, calls: l.calls })),
  );
  const steps = p.kernel.steps;
  if (places.length + operators.length === 0) return null;
  return (
    <section aria-labelledby="kernel-from" id="launched-from">
      <h2 id="kernel-from">{say("launched-from")}</h2>
      {steps && <p id="kernel-steps">{say("kernel-steps", { n: steps.steps, of: steps.of, each: steps.launches_mean_text })}</p>}
      <SmallTable view="kernel_places" caption={say("modules-and-ranges")} rows={places} draw={{ ...drawn, module: (s) => (s.module ? <Breakable text={s.module} /> : <span class="quiet">{say("no-module")}</span>) }} />
      <SmallTable view="kernel_operators" id="kernel-operators" caption={say("operators")} rows={operators} draw={{ name: (o) => <span class="mono"><Breakable text={o.name} /></span>, through: (o) => <span class="mono">{o.through}</span> }} />
    </section>
  );
}
