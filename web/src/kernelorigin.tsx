import { count } from "./format";
import { list } from "./list";
import { useModel } from "./model";
import { Breakable, Meter } from "./parts";
import type { Kernel } from "./result";
import { say } from "./words";

export function StageTable(p: { kernel: Kernel }) {
  return (
    <section aria-labelledby="kernel-stages">
      <h2 id="kernel-stages">{say("stages")}</h2>
      <table class="data small">
        <caption class="unseen">{say("time-by-stage")}</caption>
        <thead>
          <tr>
            <th scope="col">{say("stage")}</th>
            <th scope="col" class="num">{say("count-column")}</th>
            <th scope="col" class="num">{say("time-column")}</th>
            <th scope="col" class="num">{say("of-kernel")}</th>
          </tr>
        </thead>
        <tbody>
          {list(p.kernel.stages).map((s) => (
            <tr key={s.stage}>
              <th scope="row">{s.stage || say("outside-stages")}</th>
              <td class="num">{count(s.calls)}</td>
              <td class="num">{s.ns_text}</td>
              <td class="num">
                {s.share != null && <Meter share={s.share} label={s.share_text} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
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
      {places.length > 0 && (
        <table class="data small">
          <caption class="unseen">{say("modules-and-ranges")}</caption>
          <thead>
            <tr>
              <th scope="col">{say("stage")}</th>
              <th scope="col">{say("module")}</th>
              <th scope="col" class="num">{say("count-column")}</th>
              <th scope="col" class="num">{say("time-column")}</th>
              <th scope="col" class="num">{say("of-kernel")}</th>
            </tr>
          </thead>
          <tbody>
            {places.map((s, i) => (
              <tr key={i}>
                <th scope="row">{s.stage || say("outside-stages")}</th>
                <td>
                  {s.module ? <Breakable text={s.module} /> : <span class="quiet">{say("no-module")}</span>}
                </td>
                <td class="num">{count(s.calls)}</td>
                <td class="num">{s.ns_text}</td>
                <td class="num">
                  <Meter share={s.share} label={s.share_text} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {operators.length > 0 && (
        <table class="data small" id="kernel-operators">
          <caption class="unseen">{say("operators")}</caption>
          <thead>
            <tr>
              <th scope="col">{say("operator")}</th>
              <th scope="col">{say("through")}</th>
              <th scope="col" class="num">{say("count-column")}</th>
            </tr>
          </thead>
          <tbody>
            {operators.map((o, i) => (
              <tr key={i}>
                <th scope="row" class="mono">
                  <Breakable text={o.name} />
                </th>
                <td class="mono">{o.through}</td>
                <td class="num">{count(o.calls)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
