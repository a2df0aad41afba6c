import { useState } from "preact/hooks";
import { bytes, command, count, digits, percent, rate, seconds, sentence, time } from "./format";
import { list } from "./list";
import { useModel } from "./model";
import { EvidenceList, Facts, KernelLink, Meter, Section } from "./parts";
import { usePrinting } from "./printing";
import type { Fact, Kernel, Note, Operator, Peak, Stage, Utilisation } from "./result";
import { DataTable, type Column } from "./table";

const weights: Record<string, string> = { high: "Important", medium: "Worth knowing", low: "Minor" };

export function Findings() {
  const { result, timed } = useModel();
  const findings = list(result.findings);
  const [plainly, setPlainly] = useState(false);
  const nothing = timed && (result.source.status ?? "done") === "done" ? "Nothing stands out." : "No finding: what was captured supports no statement about where time could be saved.";
  return (
    <Section id="findings" title="Findings">
      {findings.length === 0 && <p class="quiet">{nothing}</p>}
      {findings.some((f) => f.plain && f.plain !== f.text) && (
        <label class="plainly">
          <input type="checkbox" id="plainly" checked={plainly} onChange={(e) => setPlainly(e.currentTarget.checked)} /> In plain words
        </label>
      )}
      <ol class="findings">
        {findings.map((f) => (
          <li key={f.id} class={`finding finding-${f.weight}`}>
            <span class="weight">{weights[f.weight] ?? f.weight}</span>
            <p class="finding-text">
              <Lead text={(plainly && f.plain) || f.text} />
            </p>
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** The words before the first colon stand out, where they are few. */
function Lead(p: { text: string }) {
  const at = p.text.indexOf(": ");
  if (at < 0 || at > 70) return <>{p.text}</>;
  return (
    <>
      <strong>{p.text.slice(0, at + 1)}</strong>
      {p.text.slice(at + 1)}
    </>
  );
}

interface UtilisationRow {
  stage: Stage;
  kind: string;
  u: Utilisation;
}

export function UtilisationTable() {
  const { result } = useModel();
  const rows: UtilisationRow[] = list(result.stages).flatMap((stage) => [
    ...list(stage.mfu).map((u) => ({ stage, kind: "MFU", u })),
    ...list(stage.mbu).map((u) => ({ stage, kind: "MBU", u })),
  ]);
  if (rows.length === 0) return null;
  return (
    <Section id="utilisation" title="MFU and MBU" lead="Work achieved over the peak of this GPU: floating-point operations (MFU) and memory traffic (MBU).">
      <div class="scroll" role="region" aria-label="MFU and MBU" tabIndex={0}>
        <table class="data utilisation">
          <caption class="unseen">MFU and MBU per stage</caption>
          <thead>
            <tr>
              <th scope="col">Stage</th>
              <th scope="col">Measure</th>
              <th scope="col">From</th>
              <th scope="col" class="num">Value</th>
              <th scope="col" class="num">Achieved</th>
              <th scope="col">Peak</th>
              <th scope="col" class="num">Over</th>
              <th scope="col" class="num">Coverage</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ stage, kind, u }, i) => (
              <tr key={i}>
                <th scope="row">{stage.name}</th>
                <td>{kind}</td>
                <td>{methods[u.method] ?? u.method}</td>
                <td class="num">{u.contradiction ? <Contradiction u={u} /> : u.value != null ? <Meter share={u.value} label={utilised(u.value)} /> : <span class="quiet">n/a</span>}</td>
                <td class="num">{u.achieved ? rate(u.achieved, u.peak.unit) : "–"}</td>
                <td class="peak">
                  <PeakText peak={u.peak} />
                </td>
                <td class="num">{u.seconds ? seconds(u.seconds) : "–"}</td>
                <td class="num">{u.coverage != null ? percent(u.coverage) : "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Clocks rows={rows} />
      <Remarks rows={rows} />
    </Section>
  );
}

function Contradiction(p: { u: Utilisation }) {
  return <span class="bad">contradiction{p.u.raw != null ? ` (${percent(p.u.raw)})` : ""}</span>;
}

/** At which clocks the peaks of MFU and of the roofline are, where they differ. */
function Clocks(p: { rows: UtilisationRow[] }) {
  const { result } = useModel();
  for (const { u } of p.rows) {
    const roof = list(result.roofline.roofs).find((r) => r.id === u.peak.id);
    if (u.peak.unit !== "flop/s" || !roof?.clock_hz || !u.peak.clock_hz || Math.abs(roof.clock_hz / u.peak.clock_hz - 1) < 0.001) continue;
    return (
      <p class="quiet" id="clocks">
        The peak of MFU is at {u.peak.clock ?? `${hertz(u.peak.clock_hz)}, the highest clock of the device`}: what the GPU could do at most. The roofline draws the same limit at {roof.clock ?? `${hertz(roof.clock_hz)}, the clock at which ncu counted`}, because each
        counted kernel is held against what was possible while it was counted.
      </p>
    );
  }
  return null;
}

/** Two digits of what is far below the peak, as decode often is. */
function utilised(share: number): string {
  return share > 0 && share < 0.0001 ? `${Number((share * 100).toPrecision(2))} %` : percent(share);
}

const methods: Record<string, string> = { analytic: "model" };

function hertz(hz: number): string {
  return `${digits(hz / 1e9)} GHz`;
}

function Remarks(p: { rows: UtilisationRow[] }) {
  const remarks = p.rows.filter((r) => r.u.why);
  if (remarks.length === 0) return null;
  return (
    <ul class="plain quiet">
      {remarks.map((r, i) => (
        <li key={i}>
          {r.stage.name}, {r.kind}, from {methods[r.u.method] ?? r.u.method}: {r.u.why}
        </li>
      ))}
    </ul>
  );
}

function PeakText(p: { peak: Peak }) {
  if (!p.peak.value) return <>–</>;
  return (
    <span title={p.peak.basis}>
      {p.peak.label}, {rate(p.peak.value, p.peak.unit)}
      {p.peak.clock_hz ? ` at ${hertz(p.peak.clock_hz)}` : ""} {!p.peak.measured && <span class="tag">from a table</span>}
    </span>
  );
}

/** The runs whose times opportunities are held against. */
const runs: Record<string, string> = { clean: "clean", nsys: "under nsys" };

export function Opportunities() {
  const model = useModel();
  const items = list(model.result.opportunities);
  const [all, setAll] = useState(false);
  const printing = usePrinting();
  const shown = all || printing ? items : items.slice(0, 6);
  const most = Math.max(...items.map((o) => o.seconds), 1e-12);
  return (
    <Section id="opportunities" title="Opportunities" lead={`What could be saved at most, by seconds of ${model.part.name}. The bounds do not add up: one gain takes from another.`}>
      {items.length === 0 && <p class="quiet">None was found.</p>}
      <ol class="opportunities">
        {shown.map((o) => {
          const kernels = list(o.kernels)
            .map((id) => model.kernel(id))
            .filter((k): k is Kernel => k !== undefined);
          return (
            <li key={o.id} class="opportunity">
              <div class="gain">
                <b>{seconds(o.seconds)}</b>
                <span class="quiet">at most</span>
                <span class="meter-bar" aria-hidden="true">
                  <span style={{ width: `${(o.seconds / most) * 100}%` }} />
                </span>
              </div>
              <div>
                <h3>{o.title}</h3>
                <p class="quiet">
                  {percent(1 - 1 / Math.max(1, o.speedup))} of {model.part.name}
                  {o.of_ns > 0 && runs[o.times] ? `, ${time(o.of_ns)} ${runs[o.times]}` : ""}
                  {o.speedup >= 1.01 ? `, which would be up to ${digits(o.speedup)} times as fast` : ""}
                  {o.stage && o.stage_gain != null ? `; ${percent(o.stage_gain)} of ${o.stage}` : o.stage ? `; in ${o.stage}` : ""}
                </p>
                {o.how && <p>{o.how}</p>}
                <details>
                  <summary>Evidence and assumption</summary>
                  {o.assumption && <p>Assumes: {o.assumption}</p>}
                  <EvidenceList items={o.evidence} />
                  {kernels.length > 0 && (
                    <ul class="plain">
                      {kernels.slice(0, 20).map((k) => (
                        <li key={k.id} class="name">
                          <KernelLink kernel={k} />
                        </li>
                      ))}
                    </ul>
                  )}
                </details>
              </div>
            </li>
          );
        })}
      </ol>
      {shown.length < items.length && (
        <button type="button" class="more" onClick={() => setAll(true)}>
          {items.length - shown.length === 1 ? "Show a smaller one" : `Show ${count(items.length - shown.length)} smaller ones`}
        </button>
      )}
    </Section>
  );
}

function stop(text: string): string {
  return text.endsWith(".") ? text : `${text}.`;
}

function remarks(o: Operator): string {
  const names = list(o.kernels);
  return [o.why, o.shapes, names.length > 0 && `${list(o.links).length > 0 ? "runs" : o.total_device_us > 0 ? "launches" : "kernels of its kind:"} ${names.join(", ")}`].filter(Boolean).join("; ");
}

/** What the column of the main kernel does not say already. */
function brief(o: Operator): string {
  const links = list(o.links);
  if (links.length === 0) return remarks(o);
  const more = links.length - 1 + (o.links_more?.kernels ?? 0);
  return [o.shapes, more > 0 && `${count(more)} more ${more === 1 ? "kernel" : "kernels"}`].filter(Boolean).join("; ");
}

/** The limiter of most of an operator's kernel time, with its share and what was counted where they are not all. */
function OperatorLimit(p: { of: Operator }) {
  const l = p.of.limiter;
  if (!l?.kind) return l?.why ? <span class="quiet" title={sentence(l.why)}>not known</span> : null;
  const parts = [l.share < 0.995 && percent(l.share), l.coverage < 0.995 && `${percent(l.coverage)} counted`].filter(Boolean).join("; ");
  return (
    <>
      <span class={`limiter limiter-${l.kind.replace(/\W/g, "")}`}>{l.label || l.kind}</span>
      {parts && <span class="quiet"> ({parts})</span>}
    </>
  );
}

/** The kernel that takes most of an operator's time, and the operator that launches it where that is another. */
function MainKernel(p: { of: Operator }) {
  const model = useModel();
  const main = list(p.of.links)[0];
  if (!main) return null;
  const kernel = main.kernel ? model.kernel(main.kernel) : undefined;
  return (
    <>
      {kernel ? <KernelLink kernel={kernel} /> : <span class="mono">{main.name}</span>}
      {!main.own && main.by && <span class="quiet"> through {main.by}</span>}
    </>
  );
}

const us = (v: number) => time(v * 1e3);
const operatorColumns: Column<Operator & { key: number }>[] = [
  { id: "name", head: "Operator", cell: (o) => <span class="mono" title={o.name}>{o.name}</span>, key: (o) => o.name },
  { id: "calls", head: "Calls", width: 4.5, num: true, cell: (o) => count(o.calls), key: (o) => o.calls },
  { id: "selfdev", head: "Self GPU", width: 6, num: true, cell: (o) => us(o.self_device_us), key: (o) => o.self_device_us },
  { id: "totaldev", head: "Total GPU", width: 6.2, num: true, cell: (o) => us(o.total_device_us), key: (o) => o.total_device_us },
  { id: "selfcpu", head: "Self CPU", width: 6, num: true, cell: (o) => us(o.self_cpu_us), key: (o) => o.self_cpu_us },
  { id: "totalcpu", head: "Total CPU", width: 6.2, num: true, cell: (o) => us(o.total_cpu_us), key: (o) => o.total_cpu_us },
  { id: "limiter", head: "Limiter", title: "What holds back more of the time of its kernels than anything else", width: 9, wrap: true, cell: (o) => <OperatorLimit of={o} />, key: (o) => o.limiter?.label || "~" },
  { id: "main", head: "Main kernel", width: 14, wrap: true, cell: (o) => <MainKernel of={o} />, key: (o) => list(o.links)[0]?.name ?? "~" },
  { id: "why", head: "Shapes, kernels, remarks", width: 20, wrap: true, cell: (o) => <span class="quiet" title={remarks(o)}>{brief(o)}</span> },
];

export function Operators() {
  const { result } = useModel();
  const rows = list(result.operators).map((o, key) => ({ ...o, key }));
  if (rows.length === 0) return null;
  const cpuOnly = rows.every((o) => o.total_device_us === 0 && o.self_device_us === 0);
  const linked = rows.some((o) => list(o.links).length > 0);
  const columns = operatorColumns.filter((c) => (!cpuOnly || !c.id.endsWith("dev")) && (linked || !["limiter", "main"].includes(c.id))).map((c) => (linked && c.id === "why" ? { ...c, width: 10 } : c));
  const lead = [
    "From the torch profiler.",
    result.operators_profiled?.text && stop(sentence(result.operators_profiled.text)),
    "Self time leaves out what an operator calls.",
    cpuOnly && "No operator has GPU time, so they are in the order of their own CPU time.",
    linked && "The limiter holds back more of the time of its kernels than anything else, its own kernels and those of the operators that it calls; in brackets the share of that time, and how much of it was counted, where that is not all.",
  ];
  return (
    <Section id="operators" title="Operators" lead={lead.filter(Boolean).join(" ")}>
      <DataTable id="operator-table" caption="Operators" rows={rows} columns={columns} rowKey={(o) => o.key} sort={cpuOnly ? "selfcpu" : "totaldev"} minWidth={linked ? 70 : 60} />
    </Section>
  );
}

/** A name begins with a capital, as its neighbours do, unless it is out of a program such as torch.compile. */
function factName(name: string): string {
  return /[._]/.test(name) ? name : name.charAt(0).toUpperCase() + name.slice(1);
}

export function Environment() {
  const { result, command: ran } = useModel();
  const e = result.environment;
  const w = result.workload;
  const fact = (name: string, value: string | number | undefined): Fact[] => (value ? [{ name, value: String(value) }] : []);
  const machine: Fact[] = [...fact("Host", e.host), ...fact("CPU", e.cpu), ...fact("System", e.os), ...fact("Driver", e.driver), ...fact("CUDA", e.cuda), ...fact("Nsight Systems", e.nsys), ...fact("Nsight Compute", e.ncu), ...list(e.software)];
  const m = w.model;
  const model: Fact[] = [
    ...fact("Kind", w.kind),
    ...fact("Model", m?.name),
    ...fact("Family", m?.family),
    ...fact("Parameters", m?.parameters && count(m.parameters)),
    ...fact("Weights", m?.weights_bytes && bytes(m.weights_bytes)),
    ...fact("Layers", m?.layers),
    ...fact("Data type", m?.dtype),
    ...fact("Attention", m?.attention),
    ...fact("KV cache", m?.kv_cache),
    ...list(w.shape).map((f) => ({ ...f, name: factName(f.name) })),
  ];
  return (
    <Section id="environment" title="Environment">
      {list(e.gpus).map((g) => (
        <article key={g.device}>
          <h3>
            GPU {g.device}: {g.name}
          </h3>
          <Facts facts={[...fact("Chip", g.chip), ...fact("Compute capability", g.compute), ...fact("SMs", g.sms), ...fact("Memory", g.memory_bytes && bytes(g.memory_bytes))]} />
          {list(g.peaks).length > 0 && (
            <details>
              <summary>Peaks</summary>
              <ul class="plain">
                {list(g.peaks).map((peak) => (
                  <li key={peak.id}>
                    <PeakText peak={peak} /> <span class="quiet">{peak.basis}</span>
                  </li>
                ))}
              </ul>
            </details>
          )}
        </article>
      ))}
      {machine.length > 0 && (
        <>
          <h3>Machine and software</h3>
          <Facts facts={machine} />
        </>
      )}
      {model.length > 0 && (
        <>
          <h3>Workload</h3>
          <Facts facts={model} />
        </>
      )}
      {ran.length > 0 && <pre class="command">{command(ran)}</pre>}
    </Section>
  );
}

export function Method() {
  const { result } = useModel();
  const m = result.method;
  const picked = m.picked;
  return (
    <Section id="method" title="How it was measured">
      {list(m.commands).map((c, i) => (
        <article key={i} class="command-block">
          <h3>
            {c.stage}
            <span class="quiet">
              {[c.seconds && `, ${seconds(c.seconds)}`, c.outcome && `, ${c.outcome}`].filter(Boolean).join("")}
            </span>
          </h3>
          <pre class="command">{c.command}</pre>
        </article>
      ))}
      {picked && (
        <>
          <h3>Launches that were counted</h3>
          <p>
            Of {count(picked.groups)} groups of kernel, grid and block {count(picked.chosen)} were chosen and {count(picked.counted)} counted{picked.counted > picked.chosen ? ", some along with the others" : ""}: {percent(picked.coverage)} of the GPU time of the chosen regions{list(picked.by_region).length > 0 ? ` (${list(picked.by_region).map((r) => `${r.region} ${percent(r.coverage)}`).join(", ")})` : ""}, {percent(picked.coverage_all)} of all
            GPU time.
            {picked.actual_s ? ` It took ${seconds(picked.actual_s)}` : ""}
            {picked.actual_s && picked.predicted_s ? `, predicted ${seconds(picked.predicted_s)}.` : picked.actual_s ? "." : ""}
          </p>
          {list(picked.left_out).length > 0 && <p class="quiet">Left out: {list(picked.left_out).join("; ")}</p>}
          {list(picked.cut_off).length > 0 && <p class="quiet">Cut off by a limit of the choice: {list(picked.cut_off).join("; ")}</p>}
        </>
      )}
      {m.clock && <p>Clock of the counters: {m.clock}</p>}
      {list(m.overhead).length > 0 && (
        <>
          <h3>Overhead</h3>
          <Facts facts={list(m.overhead)} />
        </>
      )}
      {list(m.deviations).length > 0 && (
        <>
          <h3>Settings that profiling required to be different</h3>
          <div class="scroll" role="region" aria-label="Settings that profiling required to be different" tabIndex={0}>
            <table class="data small">
              <caption class="unseen">Settings that profiling required to be different</caption>
              <thead>
                <tr>
                  <th scope="col">Setting</th>
                  <th scope="col">Stages</th>
                  <th scope="col">Configured</th>
                  <th scope="col">Used</th>
                  <th scope="col">Why</th>
                </tr>
              </thead>
              <tbody>
                {list(m.deviations).map((d) => (
                  <tr key={`${d.key} ${d.stage ?? ""}`}>
                    <th scope="row" class="mono">{d.key}</th>
                    <td>{d.stage ?? ""}</td>
                    <td>{d.configured}</td>
                    <td>{d.used}</td>
                    <td class="wrap">{d.why}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
      <Notes title="Replay modes tried" notes={list(m.ladder)} />
      {list(m.thresholds).length > 0 && (
        <details>
          <summary>Thresholds of the verdicts</summary>
          <Facts facts={list(m.thresholds)} />
        </details>
      )}
      {list(result.source.files).length > 0 && (
        <details>
          <summary>Files it was made from</summary>
          <div class="scroll" role="region" aria-label="Files" tabIndex={0}>
            <table class="data small">
              <caption class="unseen">Files</caption>
              <thead>
                <tr>
                  <th scope="col">File</th>
                  <th scope="col">Kind</th>
                  <th scope="col" class="num">Size</th>
                  <th scope="col">SHA-256</th>
                </tr>
              </thead>
              <tbody>
                {list(result.source.files).map((f) => (
                  <tr key={f.path}>
                    <th scope="row" class="mono">{f.path}</th>
                    <td>{f.kind}</td>
                    <td class="num">{bytes(f.bytes)}</td>
                    <td class="mono">{f.sha256 ? f.sha256.slice(0, 16) : ""}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </details>
      )}
    </Section>
  );
}

export function Doubts() {
  const { result, warnings } = useModel();
  const missing = list(result.missing);
  if (warnings.length + missing.length === 0) return null;
  return (
    <Section id="doubts" title="Warnings and what is missing">
      <Notes title="Warnings" notes={warnings} />
      <Notes title="Could not be told" notes={missing} />
    </Section>
  );
}

function Notes(p: { title: string; notes: Note[] }) {
  if (p.notes.length === 0) return null;
  return (
    <>
      <h3>{p.title}</h3>
      <ul class="notes">
        {p.notes.map((n, i) => (
          <li key={i} id={`note-${n.id}`}>
            {sentence(n.text)}
            {n.next && <span class="next">Next: {n.next}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}
