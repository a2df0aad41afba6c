import { useState } from "preact/hooks";
import { ReportTable } from "./columns";
import { command, count, joined, sentence } from "./format";
import { list } from "./list";
import { useModel } from "./model";
import { Breakable, EvidenceList, Facts, KernelLink, Section } from "./parts";
import { usePrinting } from "./printing";
import type { Fact, Kernel, Note, Peak } from "./result";

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
          <li key={f.id} id={`finding-${f.id}`} class={`finding finding-${f.weight}`}>
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
  const text = joined(p.text);
  const at = text.indexOf(": ");
  if (at < 0 || at > 70) return <>{text}</>;
  return (
    <>
      <strong>{text.slice(0, at + 1)}</strong>
      {text.slice(at + 1)}
    </>
  );
}

export function UtilisationTable() {
  const { result } = useModel();
  const clocks = result.roofline.clocks;
  if (list(result.tables["use"]?.rows).length === 0) return null;
  return (
    <Section id="utilisation" title="MFU, HFU and MBU" lead="Work achieved over the peak of this GPU: the model's floating-point operations (MFU), those that the hardware executed (HFU) and memory traffic (MBU).">
      <ReportTable name="use" caption="MFU, HFU and MBU per stage" drawn={{ measure: { width: 5.6 }, from: { width: 5.6 } }} />
      {clocks && (
        <p class="quiet" id="clocks">
          The peak of MFU is at {clocks.peak.clock ?? "the highest clock of the device"}: what the GPU could do at most. The roofline draws the same limit at {clocks.roof.clock ?? "the clock at which ncu counted"}, because each counted kernel is held against what was
          possible while it was counted.
        </p>
      )}
    </Section>
  );
}

function PeakText(p: { peak: Peak }) {
  if (!p.peak.value) return <>–</>;
  return (
    <span title={p.peak.basis}>
      {p.peak.label}, {p.peak.value_text}
      {p.peak.clock_hz ? ` at ${p.peak.clock_hz_text}` : ""} {!p.peak.measured && <span class="tag">not measured</span>}
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
  if (items.length === 0 && !model.timed) return null; // no time could be saved of an unknown time
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
            <li key={o.id} id={`opportunity-${o.id}`} class="opportunity">
              <div class="gain">
                <b>{o.seconds_text}</b>
                <span class="quiet">{o.estimated ? "about" : "at most"}</span>
                <span class="meter-bar" aria-hidden="true">
                  <span style={{ width: `${(o.seconds / most) * 100}%` }} />
                </span>
              </div>
              <div>
                <h3>{o.title}</h3>
                <p class="quiet">
                  {o.share_text ?? "n/a"} of {model.part.name}
                  {o.of_ns > 0 && runs[o.times] ? `, ${o.of_ns_text} ${runs[o.times]}` : ""}
                  {o.estimate_s != null ? `; likely about ${o.estimate_s_text}` : ""}
                  {o.speedup > 1 ? `, which would be up to ${o.speedup_text} times as fast` : ""}
                  {o.stage && o.stage_gain != null ? `; ${o.stage_gain_text} of ${o.stage}` : o.stage ? `; in ${o.stage}` : ""}
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
    ...fact("Weights", m?.weights_bytes && m.weights_bytes_text),
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
            GPU {g.device}{g.name ? `: ${g.name}` : ""}
          </h3>
          <Facts facts={[...fact("Chip", g.chip), ...fact("Compute capability", g.compute), ...fact("SMs", g.sms), ...fact("Memory", g.memory_bytes && g.memory_bytes_text)]} />
          {list(g.peaks).length > 0 && (
            <details>
              <summary>Peaks</summary>
              <ul class="plain">
                {list(g.peaks).map((peak) => (
                  <li key={peak.id}>
                    <PeakText peak={peak} /> <span class="quiet">{peak.basis && <Breakable text={peak.basis} />}</span>
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
      {ran.length > 0 && <Command text={command(ran)} />}
    </Section>
  );
}

const longCommand = 1000; // characters, some eight lines; ncu takes the names of all kernels that it counts

/** A command as it ran; of a long one the beginning, until it is unfolded, and on paper. */
function Command(p: { text: string }) {
  const whole = <pre class="command">{p.text}</pre>;
  if (p.text.length <= longCommand) return whole;
  return (
    <>
      <pre class="command beginning">{p.text.slice(0, longCommand / 3).replace(/\S*$/, "…")}</pre>
      <details class="alternative">
        <summary>The whole command, {count(p.text.length)} characters</summary>
        {whole}
      </details>
    </>
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
              {[c.seconds && `, ${c.seconds_text}`, c.outcome && `, ${c.outcome}`].filter(Boolean).join("")}
            </span>
          </h3>
          <Command text={c.command} />
        </article>
      ))}
      {picked && (
        <>
          <h3>Launches that were counted</h3>
          <p>
            Of {count(picked.groups)} groups of kernel, grid and block {count(picked.chosen)} were chosen and {count(picked.counted)} counted{picked.counted > picked.chosen ? ", some along with the others" : ""}: {picked.coverage_text} of the GPU time of the chosen regions{list(picked.by_region).length > 0 ? ` (${list(picked.by_region).map((r) => `${r.region} ${r.coverage_text}`).join(", ")})` : ""}, {picked.coverage_all_text} of all
            GPU time.
            {picked.actual_s ? ` It took ${picked.actual_s_text}` : ""}
            {picked.actual_s && picked.predicted_s ? `, predicted ${picked.predicted_s_text}.` : picked.actual_s ? "." : ""}
          </p>
          {list(picked.left_out).length > 0 && <p class="quiet">Left out: {list(picked.left_out).map((n) => n.text).join("; ")}</p>}
          {list(picked.cut_off).length > 0 && <p class="quiet">Cut off by a limit of the choice: {list(picked.cut_off).map((n) => n.text).join("; ")}</p>}
        </>
      )}
      {m.clock && <p>Clock of the counters: {m.clock}</p>}
      {m.unprofiled_s && <p>The whole program without a profiler: {m.unprofiled_s_text}.</p>}
      {list(m.deviations).length > 0 && (
        <>
          <h3>Settings that profiling required to be different</h3>
          <ReportTable name="deviations" caption="Settings that profiling required to be different" drawn={{ stage: { width: 9 } }} />
        </>
      )}
      <Notes title="Annotation" notes={list(m.annotation)} />
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
          <ReportTable name="files" caption="Files" />
        </details>
      )}
    </Section>
  );
}

export function Doubts() {
  const { result } = useModel();
  const warnings = list(result.warnings);
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
          <li key={i} id={`note-${n.code}`}>
            {sentence(n.text)}
            {n.next && <span class="next">Next: {n.next}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}
