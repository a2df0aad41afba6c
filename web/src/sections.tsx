import { useState } from "preact/hooks";
import { ReportTable } from "./columns";
import { shownAt } from "./evidence";
import { count, joined, sentence } from "./format";
import { EvidenceList } from "./evidencelist";
import { list } from "./list";
import { useModel } from "./model";
import { Breakable, Facts, KernelLink, Section } from "./parts";
import { usePrinting } from "./printing";
import type { Fact, Kernel, Note, Peak } from "./result";
import { useKept } from "./route";
import { say } from "./words";

export function Findings() {
  const { result } = useModel();
  const findings = list(result.findings);
  const [words, setWords] = useKept("words");
  const plainly = words === "plain";
  return (
    <Section id="findings" title={say("findings")}>
      {findings.length === 0 && <p class="quiet">{result.no_findings}</p>}
      {findings.some((f) => f.plain && f.plain !== f.text) && (
        <label class="plainly">
          <input type="checkbox" id="plainly" checked={plainly} onChange={(e) => setWords(e.currentTarget.checked ? "plain" : "")} /> {say("findings-plainly")}
        </label>
      )}
      <ol class="findings">
        {findings.map((f) => (
          <li key={f.id} id={`finding-${f.id}`} class={`finding finding-${f.weight}`}>
            <span class="weight">{say(`weight-${f.weight}`)}</span>
            <p class="finding-text">
              <span class="said">{joined((plainly && f.plain) || f.text)}</span> <FindingLinks id={f.id} />
            </p>
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** Where the evidence of a finding is, and the address of the finding itself. */
function FindingLinks(p: { id: string }) {
  const shown = shownAt(useModel(), p.id);
  return (
    <span class="finding-links">
      {shown && <a href={shown[0]}>{shown[1]}</a>} <a class="permalink" href={`#finding-${p.id}`} title={say("link-to-finding")} aria-label={say("link-to-finding")}>#</a>
    </span>
  );
}

export function UtilisationTable() {
  const { result } = useModel();
  const clocks = result.roofline.clocks;
  if (list(result.tables["use"]?.rows).length === 0) return null;
  return (
    <Section id="utilisation" title={say("use")} lead={say("use-lead")}>
      <ReportTable name="use" caption={say("use-table")} drawn={{ measure: { width: 5.6 }, from: { width: 5.6 } }} />
      {clocks && (
        <p class="quiet" id="clocks">
          {say("use-clocks", { peak: clocks.peak.clock ?? say("highest-clock"), roof: clocks.roof.clock ?? say("counted-clock") })}
        </p>
      )}
    </Section>
  );
}

function PeakText(p: { peak: Peak }) {
  if (!p.peak.value) return <>–</>;
  return (
    <span title={p.peak.basis}>
      {say("peak", { label: p.peak.label, value: p.peak.value_text, clock: p.peak.clock_hz ? p.peak.clock_hz_text : "" })} {!p.peak.measured && <span class="tag">{say("not-measured")}</span>}
    </span>
  );
}

export function Opportunities() {
  const model = useModel();
  const items = list(model.result.opportunities);
  const [all, setAll] = useState(false);
  const printing = usePrinting();
  const shown = all || printing ? items : items.slice(0, 6);
  if (items.length === 0 && !model.timed) return null; // no time could be saved of an unknown time
  const most = Math.max(...items.map((o) => o.seconds), 1e-12);
  return (
    <Section id="opportunities" title={say("opportunities")} lead={say("opportunities-lead", { of: model.part.name })}>
      {items.length === 0 && <p class="quiet">{say("opportunities-none")}</p>}
      <ol class="opportunities">
        {shown.map((o) => {
          const kernels = list(o.kernels)
            .map((id) => model.kernel(id))
            .filter((k): k is Kernel => k !== undefined);
          return (
            <li key={o.id} id={`opportunity-${o.id}`} class="opportunity">
              <div class="gain">
                <b>{o.seconds_text}</b>
                <span class="quiet">{say(o.estimated ? "about" : "at-most")}</span>
                <span class="meter-bar" aria-hidden="true">
                  <span style={{ width: `${(o.seconds / most) * 100}%` }} />
                </span>
              </div>
              <div>
                <h3>{o.title}</h3>
                <p class="quiet">
                  {say("opportunity-about", {
                    share: o.share_text ?? say("absent"),
                    part: model.part.name,
                    of: o.of_ns > 0 && o.of_ns_text,
                    times: o.of_ns > 0 && say(`times-${o.times}`),
                    estimate: o.estimate_s_text,
                    speedup: o.speedup > 1 && o.speedup_text,
                    gain: o.stage_gain_text,
                    stage: o.stage,
                    alone: o.stage_gain == null && o.stage,
                  })}
                </p>
                {o.how && <p>{o.how}</p>}
                <details>
                  <summary>{say("opportunity-evidence")}</summary>
                  {o.assumption && <p>{say("opportunity-assumes", { what: o.assumption })}</p>}
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
          {say("opportunities-more", { n: items.length - shown.length })}
        </button>
      )}
    </Section>
  );
}

export function Environment() {
  const { result } = useModel();
  const e = result.environment;
  const w = result.workload;
  const fact = (id: string, value: string | number | undefined): Fact[] => (value ? [{ name: say(`environment-${id}`), value: String(value) }] : []);
  const machine: Fact[] = [...fact("host", e.host), ...fact("cpu", e.cpu), ...fact("os", e.os), ...fact("driver", e.driver), ...fact("cuda", e.cuda), ...fact("nsys", e.nsys), ...fact("ncu", e.ncu), ...list(e.software)];
  const m = w.model;
  const model: Fact[] = [
    ...fact("kind", w.kind),
    ...fact("model", m?.name),
    ...fact("family", m?.family),
    ...fact("parameters", m?.parameters && count(m.parameters)),
    ...fact("weights", m?.weights_bytes && m.weights_bytes_text),
    ...fact("layers", m?.layers),
    ...fact("dtype", m?.dtype),
    ...fact("attention", m?.attention),
    ...fact("kv-cache", m?.kv_cache),
    ...list(w.shape).map((f) => ({ ...f, name: f.title ?? f.name })),
  ];
  return (
    <Section id="environment" title={say("environment")}>
      {list(e.gpus).map((g) => (
        <article key={g.device}>
          <h3>
            {say("gpu", { device: String(g.device), name: g.name })}
          </h3>
          <Facts facts={[...fact("chip", g.chip), ...fact("compute", g.compute), ...fact("sms", g.sms), ...fact("memory", g.memory_bytes && g.memory_bytes_text)]} />
          {list(g.peaks).length > 0 && (
            <details>
              <summary>{say("peaks")}</summary>
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
          <h3>{say("machine")}</h3>
          <Facts facts={machine} />
        </>
      )}
      {model.length > 0 && (
        <>
          <h3>{say("workload")}</h3>
          <Facts facts={model} />
        </>
      )}
      {result.command && <Command text={result.command} />}
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
        <summary>{say("whole-command", { n: p.text.length })}</summary>
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
    <Section id="method" title={say("method")}>
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
          <h3>{say("picked-title")}</h3>
          <p>
            {say("picked", {
              groups: picked.groups,
              chosen: picked.chosen,
              counted: picked.counted,
              others: result.counted_others || "",
              coverage: picked.coverage_text,
              regions: list(picked.by_region)
                .map((r) => `${r.region} ${r.coverage_text}`)
                .join(", "),
              all: picked.coverage_all_text,
              took: picked.actual_s && picked.actual_s_text,
              predicted: picked.actual_s && picked.predicted_s && picked.predicted_s_text,
            })}
          </p>
          {list(picked.left_out).length > 0 && <p class="quiet">{say("picked-left-out", { what: list(picked.left_out).map((n) => n.text).join("; ") })}</p>}
          {list(picked.cut_off).length > 0 && <p class="quiet">{say("picked-cut-off", { what: list(picked.cut_off).map((n) => n.text).join("; ") })}</p>}
        </>
      )}
      {m.clock && <p>{say("method-clock", { clock: m.clock })}</p>}
      {m.unprofiled_s && <p>{say("method-unprofiled", { time: m.unprofiled_s_text })}</p>}
      {list(m.deviations).length > 0 && (
        <>
          <h3>{say("deviations")}</h3>
          <ReportTable name="deviations" caption={say("deviations")} drawn={{ stage: { width: 9 } }} />
        </>
      )}
      <Notes title={say("annotation")} notes={list(m.annotation)} />
      <Notes title={say("replay-modes")} notes={list(m.ladder)} />
      {list(m.thresholds).length > 0 && (
        <details>
          <summary>{say("thresholds")}</summary>
          <Facts facts={list(m.thresholds)} />
        </details>
      )}
      {list(result.source.files).length > 0 && (
        <details>
          <summary>{say("files-of")}</summary>
          <ReportTable name="files" caption={say("files")} />
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
    <Section id="doubts" title={say("doubts")}>
      <Notes title={say("warnings")} notes={warnings} />
      <Notes title={say("missing")} notes={missing} />
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
            {n.next && <span class="next">{say("next", { what: n.next })}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}
