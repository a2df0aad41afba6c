import { useMemo } from "preact/hooks";
import { sentence, stop } from "./format";
import { list } from "./list";
import { Breakable } from "./parts";
import type { Counted, Kernel, Metric, RuleWords } from "./result";
import { useKept } from "./route";
import { say } from "./words";

export function NotCounted(p: { kernel: Kernel }) {
  return (
    <section aria-labelledby="kernel-counters">
      <h2 id="kernel-counters">{say("counters")}</h2>
      <p class="quiet">{say("not-counted", { why: p.kernel.reason })}</p>
    </section>
  );
}

export function CountedPart(p: { counted: Counted; reason?: string }) {
  const c = p.counted;
  const [query, setQuery] = useKept("counters");
  const metrics = list(c.metrics);
  const sections = useMemo(() => bySection(metrics, query), [metrics, query]);
  return (
    <>
      {list(c.rules).length > 0 && <Rules rules={list(c.rules)} />}
      <section aria-labelledby="kernel-counters" id="counters">
        <h2 id="kernel-counters">{say("counters")}</h2>
        <p class="quiet">
          {say("counted", {
            launch: String(c.launch),
            report: c.report,
            time: c.duration_ns && c.duration_ns_text,
            clock: c.clock_hz && c.clock_hz_text,
            passes: c.passes || "",
            timeline: c.timeline_ns && c.timeline_ns_text,
            others: c.others || "",
          })}{" "}
          {say(c.verified ? "counted-verified" : "counted-unverified")} {c.note && stop(sentence(c.note))} {p.reason && say("counted-why", { why: stop(p.reason) })}
        </p>
        {metrics.length > 0 && (
          <label class="field">
            <span>{say("search")}</span>
            <input type="search" id="counter-search" value={query} onInput={(e) => setQuery(e.currentTarget.value)} placeholder={say("counters-search")} autocomplete="off" spellcheck={false} />
          </label>
        )}
        <div class="counter-sections">
          {sections.map(([name, rows]) => (
            <details key={name} open>
              <summary>
                {name} <span class="quiet">{rows.length}</span>
              </summary>
              <table class="data small">
                <caption class="unseen">{name}</caption>
                <thead class="unseen">
                  <tr>
                    <th scope="col">{say("counter")}</th>
                    <th scope="col">{say("value")}</th>
                  </tr>
                </thead>
                <tbody>
                  {rows.map((m) => (
                    <tr key={m.name}>
                      <th scope="row">
                        {m.label || <Breakable text={m.name} />}
                        {m.label && m.label !== m.name && <span class="mono quiet counter-name"><Breakable text={m.name} /></span>}
                      </th>
                      <td class="num">{m.text}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </details>
          ))}
        </div>
        {metrics.length > 0 && sections.length === 0 && <p class="quiet">{say("counters-no-match")}</p>}
      </section>
    </>
  );
}

function bySection(metrics: Metric[], query: string): [string, Metric[]][] {
  const q = query.toLowerCase();
  const out = new Map<string, Metric[]>();
  for (const m of metrics) {
    if (q && !`${m.name} ${m.label ?? ""}`.toLowerCase().includes(q)) continue;
    const name = m.section || say("counters-other");
    const rows = out.get(name);
    if (rows) rows.push(m);
    else out.set(name, [m]);
  }
  return [...out];
}

function Rules(p: { rules: RuleWords[] }) {
  return (
    <section aria-labelledby="kernel-rules" id="rules">
      <h2 id="kernel-rules">{say("rules")}</h2>
      <ul class="rules">
        {p.rules.map((r, i) => (
          <li key={i} class={`rule rule-${r.kind}`}>
            <p class="rule-head">
              <strong>{r.title || r.rule}</strong> <span class="tag">{say(`rule-${r.kind}`)}</span>
              {r.speedup != null && (
                <span class="tag">
                  {say(r.local ? "rule-local" : "rule-kernel", { speedup: r.speedup_text })}
                </span>
              )}
              {r.section && <span class="quiet"> {r.section}</span>}
            </p>
            <p>{r.text}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
