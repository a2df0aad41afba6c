import { Fragment } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { count, dims, sentence, stop } from "./format";
import { HistogramPlot } from "./histogram";
import { list } from "./list";
import { untimed, useModel } from "./model";
import { Breakable, CategoryName, EvidenceList, Facts, Meter } from "./parts";
import type { Counted, Fact, Kernel, MemoryChart, Metric, RuleWords, Stall } from "./result";
import { RooflinePlot } from "./roofline";
import { kernelHref } from "./route";

export function KernelPage(p: { id: string }) {
  const model = useModel();
  const kernel = model.kernel(p.id);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    scrollTo({ top: 0, behavior: "instant" });
    title.current?.focus({ preventScroll: true });
  }, [p.id]);
  return (
    <main id="kernel-page" class="kernel-page">
      <p class="crumbs">
        <a href="#kernels" id="back" title="Or press Escape">
          ← All kernels
        </a>
        {kernel && <Neighbours kernel={kernel} />}
      </p>
      {kernel ? (
        <KernelBody kernel={kernel} title={title} />
      ) : (
        <>
          <h1 ref={title} tabIndex={-1}>
            No such kernel
          </h1>
          <p>This report has no kernel {p.id}.</p>
        </>
      )}
    </main>
  );
}

function Neighbours(p: { kernel: Kernel }) {
  const { kernels } = useModel();
  const i = kernels.indexOf(p.kernel);
  const before = kernels[i - 1];
  const after = kernels[i + 1];
  return (
    <span class="neighbours">
      {before && (
        <a href={kernelHref(before.id)} rel="prev">
          previous
        </a>
      )}
      <span class="quiet">
        {count(i + 1)} of {count(kernels.length)} by time
      </span>
      {after && (
        <a href={kernelHref(after.id)} rel="next">
          next
        </a>
      )}
    </span>
  );
}

function KernelBody(p: { kernel: Kernel; title: { current: HTMLHeadingElement | null } }) {
  const model = useModel();
  const k = p.kernel;
  const slow = list(model.result.stages).filter((s) => s.split.launch_bound && list(k.stages).some((t) => t.stage === s.name));
  const points = list(k.points);
  return (
    <>
      <h1 ref={p.title} tabIndex={-1} class="mono">
        {model.label(k)}
      </h1>
      {k.short && k.short !== k.name && <p class="full mono">{k.name}</p>}
      {slow.length > 0 && (
        <p class="callout">
          <strong>Launch-bound stage.</strong> This kernel runs in {slow.map((s) => s.name).join(", ")}, where the GPU waits for launches more than it works. Solve that before the counters below.
        </p>
      )}
      <div class="tiles">
        {untimed(k) ? (
          <>
            <Tile name="Calls and total time" value="n/a" note="no launch of it is in the timeline, or in the scope" />
            {k.counted?.duration_ns ? <Tile name="Under ncu" value={k.counted.duration_ns_text} note="one launch alone, as ncu replays it" /> : null}
          </>
        ) : (
          <>
            <Tile name="Total" value={k.total_ns_text} note={`${k.share_text} of kernel time${model.result.scope ? " in the scope" : ""}`} />
            <Tile name="Calls" value={count(k.calls)} note={`mean ${k.mean_ns_text}`} />
            <Tile name="Median" value={k.median_ns_text} note={`${k.min_ns_text} to ${k.max_ns_text}`} />
          </>
        )}
        <InBaseline kernel={k} />
        <Tile name="Category" value={<CategoryName id={k.category} />} note={k.rule ? `rule ${k.rule}` : "no rule matched"} />
      </div>
      <div class="columns">
        <div>
          <Limiter kernel={k} />
          <Launch kernel={k} />
          {list(k.stages).length > 0 && <StageTable kernel={k} />}
          <LaunchedFrom kernel={k} />
        </div>
        <div>
          {k.no_point && <p class="quiet">Roofline: no point, because {k.no_point}.</p>}
          {points.length > 0 && (
            <section aria-labelledby="kernel-roof">
              <h2 id="kernel-roof">Roofline</h2>
              <RooflinePlot id="kernel-roofline" roofs={list(model.result.roofline.roofs)} points={points} memories={points.map((q) => q.memory)} types={points.map((q) => q.dtype)} small />
              <ul class="plain">
                {points.map((q, i) => (
                  <li key={i}>
                    {q.memory.toUpperCase()}
                    {moved[q.memory] ? ` (${moved[q.memory]})` : ""}: {q.intensity_text} FLOP/B, {q.attained_text} of the roof
                  </li>
                ))}
              </ul>
              {k.points_note && <p class="quiet">{stop(sentence(k.points_note))}</p>}
            </section>
          )}
          {k.counted?.memory && <MemoryPlot memory={k.counted.memory} />}
          {list(k.counted?.stalls).length > 0 && <Stalls stalls={list(k.counted!.stalls)} />}
          {k.histogram && (
            <section aria-labelledby="kernel-histogram">
              <h2 id="kernel-histogram">Durations</h2>
              <HistogramPlot histogram={k.histogram} label={`Durations of ${count(k.calls)} launches`} />
            </section>
          )}
        </div>
      </div>
      {k.counted ? <CountedPart counted={k.counted} reason={k.reason} /> : <NotCounted kernel={k} />}
    </>
  );
}

export function Tile(p: { name: string; value: preact.ComponentChildren; note?: string; change?: string }) {
  return (
    <div class="tile">
      <span class="tile-name" title={p.name}>{p.name}</span>
      <span class="tile-value">{p.value}</span>
      {p.note && <span class="tile-note">{p.note}</span>}
      {p.change && <span class="tile-note tile-change">{p.change}</span>}
    </div>
  );
}

/** The same kernel, grid and block in the baseline. */
function InBaseline(p: { kernel: Kernel }) {
  const { result } = useModel();
  const there = list(result.baseline?.kernels).find((b) => b.kernel === p.kernel.id);
  if (!result.baseline) return null;
  if (!there) return <Tile name={`In ${result.baseline.name}`} value="–" />;
  return <Tile name={`Median in ${result.baseline.name}`} value={there.median_ns_text} note={`${count(there.calls)} calls, ${there.total_ns_text}`} change={result.kernel_changes?.[p.kernel.id]} />;
}

function Limiter(p: { kernel: Kernel }) {
  const model = useModel();
  const l = p.kernel.limiter;
  return (
    <section aria-labelledby="kernel-limiter" id="limiter">
      <h2 id="kernel-limiter">What limits it</h2>
      {l.kind ? (
        <p class="verdict">
          <strong>{l.label}</strong>
          {l.detail && <span class="quiet"> {l.detail}</span>}
          {l.level != null && <Meter share={l.level} label={`${l.level_text} ${l.kind === "small" ? "of one wave" : "in use"}`} />}
        </p>
      ) : (
        <p class="verdict">
          <strong>No verdict</strong>
        </p>
      )}
      {l.why && <p>{stop(sentence(l.why))}</p>}
      {l.cause && (l.cause.text || list(l.cause.need).length > 0) && (
        <p class="cause">
          <strong>Cause:</strong> {l.cause.text ? `${stop(l.cause.text)} ${stop(l.cause.next ?? "")}` : `not told; ncu's sections that would tell: ${list(l.cause.need).join(", ")}`}
        </p>
      )}
      {list(p.kernel.other_limiters).map((o) => (
        <p key={o.timeline_ns} class="other-limiter">
          Launches of about {o.timeline_ns_text} ({count(o.calls)} {o.calls === 1 ? "call" : "calls"}, {o.share_text} of its time): <strong>{o.limiter.label}</strong>
          {o.limiter.level != null ? ` (${o.limiter.level_text})` : ""}. {stop(sentence(o.limiter.why))}
        </p>
      ))}
      {l.need && <p class="quiet">What would tell: {l.need}</p>}
      {p.kernel.attained != null && (
        <p class="quiet">
          Busiest unit: {p.kernel.attained_of ? `${model.peak(p.kernel.attained_of)}, ` : ""}at {p.kernel.attained_text} of its peak{measuredBy(p.kernel)}.
        </p>
      )}
      <EvidenceList items={l.evidence} />
    </section>
  );
}

const moved: Record<string, string> = { dram: "bytes to and from DRAM", l2: "bytes that L2 hands to L1", l1: "bytes that loads take from L1" };

/** What the share of the busiest unit is a share of: a unit of memory can be busy with more than the bytes of its roofline. */
function measuredBy(k: Kernel): string {
  const bytes = moved[k.attained_of ?? ""];
  if (!bytes) return "";
  if (!k.attained_metric) return ` (${bytes})`;
  return ` (${k.attained_metric.split(".")[0]}: how busy the unit is, with all that it does${list(k.points).some((q) => q.memory === k.attained_of) ? `; the roofline counts the ${bytes} alone` : ""})`;
}

function Launch(p: { kernel: Kernel }) {
  const k = p.kernel;
  const facts: Fact[] = [
    { name: "Grid", value: dims(k.grid) },
    { name: "Block", value: dims(k.block) },
  ];
  if (k.waves) facts.push({ name: "Waves", value: k.waves_text ?? "" });
  if (k.registers) facts.push({ name: "Registers per thread", value: count(k.registers) });
  if (k.static_shared_bytes) facts.push({ name: "Static shared memory", value: k.static_shared_bytes_text ?? "" });
  if (k.dynamic_shared_bytes) facts.push({ name: "Dynamic shared memory", value: k.dynamic_shared_bytes_text ?? "" });
  return (
    <section aria-labelledby="kernel-launch">
      <h2 id="kernel-launch">Launch</h2>
      <Facts facts={facts} />
      {k.mangled && k.mangled !== k.name && (
        <details>
          <summary>Mangled name</summary>
          <p class="full mono">{k.mangled}</p>
        </details>
      )}
    </section>
  );
}

function StageTable(p: { kernel: Kernel }) {
  return (
    <section aria-labelledby="kernel-stages">
      <h2 id="kernel-stages">Stages</h2>
      <table class="data small">
        <caption class="unseen">Time by stage</caption>
        <thead>
          <tr>
            <th scope="col">Stage</th>
            <th scope="col" class="num">Calls</th>
            <th scope="col" class="num">Time</th>
            <th scope="col" class="num">Of this kernel</th>
          </tr>
        </thead>
        <tbody>
          {list(p.kernel.stages).map((s) => (
            <tr key={s.stage}>
              <th scope="row">{s.stage || "outside stages"}</th>
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
function LaunchedFrom(p: { kernel: Kernel }) {
  const { result } = useModel();
  const places = list(p.kernel.places);
  const operators = list(result.operators).flatMap((o) =>
    list(o.links)
      .filter((l) => l.kernel === p.kernel.id)
      .map((l) => ({ name: o.name, through: l.by, calls: l.calls })),
  );
  if (places.length + operators.length === 0) return null;
  return (
    <section aria-labelledby="kernel-from" id="launched-from">
      <h2 id="kernel-from">Launched from</h2>
      {places.length > 0 && (
        <table class="data small">
          <caption class="unseen">Modules and ranges</caption>
          <thead>
            <tr>
              <th scope="col">Stage</th>
              <th scope="col">Module</th>
              <th scope="col" class="num">Calls</th>
              <th scope="col" class="num">Time</th>
              <th scope="col" class="num">Of this kernel</th>
            </tr>
          </thead>
          <tbody>
            {places.map((s, i) => (
              <tr key={i}>
                <th scope="row">{s.stage || "–"}</th>
                <td>
                  <Breakable text={s.module || "–"} />
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
          <caption class="unseen">Operators</caption>
          <thead>
            <tr>
              <th scope="col">Operator</th>
              <th scope="col">Through</th>
              <th scope="col" class="num">Calls</th>
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

const levels: [id: string, name: string][] = [
  ["sm", "SM"],
  ["l1", "L1"],
  ["l2", "L2"],
  ["dram", "DRAM"],
];

/** The bytes between the levels of memory: as wide as their share of the most. */
function MemoryPlot(p: { memory: MemoryChart }) {
  const flows = list(p.memory.flows);
  const most = Math.max(...flows.map((f) => f.moved_bytes), 1);
  const hit: Record<string, string | undefined> = { l1: p.memory.l1_hit_share_text, l2: p.memory.l2_hit_share_text };
  return (
    <section aria-labelledby="kernel-memory" id="memory-chart">
      <h2 id="kernel-memory">Memory chart</h2>
      <div class="memory">
        {levels.map(([id, name], i) => (
          <Fragment key={id}>
            {i > 0 && (
              <div class="flows">
                {flows
                  .filter((f) => [f.from, f.to].includes(id) && [f.from, f.to].includes(levels[i - 1]![0]))
                  .map((f) => (
                    <div key={f.from + f.to} class="flow" data-flow={`${f.from}-${f.to}`} title={f.counter}>
                      <span>
                        {f.both ? "↔" : f.from === id ? "←" : "→"} {f.moved_bytes_text}
                      </span>
                      <span class="flow-bar" style={{ height: `${1 + (f.moved_bytes / most) * 9}px` }} aria-hidden="true" />
                    </div>
                  ))}
              </div>
            )}
            <div class="level">
              <b>{name}</b>
              {hit[id] && <span class="quiet">hits {hit[id]}</span>}
            </div>
          </Fragment>
        ))}
      </div>
    </section>
  );
}

function Stalls(p: { stalls: Stall[] }) {
  const most = p.stalls[0]?.share ?? 1;
  return (
    <section aria-labelledby="kernel-stalls" id="stalls">
      <h2 id="kernel-stalls">Stall reasons</h2>
      <table class="data small">
        <caption class="unseen">Stall reasons</caption>
        <thead>
          <tr>
            <th scope="col">A warp waits for</th>
            <th scope="col" class="num">Of its time</th>
          </tr>
        </thead>
        <tbody>
          {p.stalls.map((s) => (
            <tr key={s.reason}>
              <th scope="row" title={s.reason}>{s.label}</th>
              <td class="num">
                <Meter share={s.share} label={s.share_text} most={most} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function NotCounted(p: { kernel: Kernel }) {
  return (
    <section aria-labelledby="kernel-counters">
      <h2 id="kernel-counters">Counters</h2>
      <p class="quiet">Not counted{p.kernel.reason ? `: ${p.kernel.reason}` : "."}</p>
    </section>
  );
}

function CountedPart(p: { counted: Counted; reason?: string }) {
  const c = p.counted;
  const [query, setQuery] = useState("");
  const metrics = list(c.metrics);
  const sections = useMemo(() => bySection(metrics, query), [metrics, query]);
  return (
    <>
      {list(c.rules).length > 0 && <Rules rules={list(c.rules)} />}
      <section aria-labelledby="kernel-counters" id="counters">
        <h2 id="kernel-counters">Counters</h2>
        <p class="quiet">
          Launch {c.launch} of {c.report}
          {c.duration_ns ? `, ${c.duration_ns_text} under ncu` : ""}
          {c.clock_hz ? ` at ${c.clock_hz_text}` : ""}
          {c.passes ? `, ${c.passes} ${c.passes === 1 ? "pass" : "passes"}` : ""}
          {c.timeline_ns ? `; such launches last ${c.timeline_ns_text} in the timeline` : ""}. {c.others ? (c.others === 1 ? "One more launch of it was counted. " : `${count(c.others)} more launches of it were counted. `) : ""}
          {c.verified ? "It is the launch that was meant." : "It could not be verified that it is the launch that was meant."} {c.note && stop(sentence(c.note))} {p.reason && `Why this kernel: ${stop(p.reason)}`}
        </p>
        {metrics.length > 0 && (
          <label class="field">
            <span>Search</span>
            <input type="search" id="counter-search" value={query} onInput={(e) => setQuery(e.currentTarget.value)} placeholder="Name of a counter" autocomplete="off" spellcheck={false} />
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
                    <th scope="col">Counter</th>
                    <th scope="col">Value</th>
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
        {metrics.length > 0 && sections.length === 0 && <p class="quiet">No counter matches.</p>}
      </section>
    </>
  );
}

function bySection(metrics: Metric[], query: string): [string, Metric[]][] {
  const q = query.toLowerCase();
  const out = new Map<string, Metric[]>();
  for (const m of metrics) {
    if (q && !`${m.name} ${m.label ?? ""}`.toLowerCase().includes(q)) continue;
    const name = m.section || "Other counters";
    const rows = out.get(name);
    if (rows) rows.push(m);
    else out.set(name, [m]);
  }
  return [...out];
}

const ruleNames: Record<string, string> = { ok: "note", warning: "warning", error: "error", optimization: "optimization" };

function Rules(p: { rules: RuleWords[] }) {
  return (
    <section aria-labelledby="kernel-rules" id="rules">
      <h2 id="kernel-rules">What NVIDIA's rules say</h2>
      <ul class="rules">
        {p.rules.map((r, i) => (
          <li key={i} class={`rule rule-${r.kind}`}>
            <p class="rule-head">
              <strong>{r.title || r.rule}</strong> <span class="tag">{ruleNames[r.kind] ?? r.kind}</span>
              {r.speedup != null && (
                <span class="tag">
                  {r.local ? "local" : "kernel"} estimate {r.speedup_text} %
                </span>
              )}
              {r.section && <span class="quiet"> {r.section}</span>}
            </p>
            <p>{plainWords(r.text)}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** NVIDIA's markers for links and names are not for readers. */
function plainWords(text: string): string {
  return text.replace(/@(?:section|url|source|sass)?:?([^:@]*):([^@]*)@/g, "$1").replace(/\\n/g, " ");
}
