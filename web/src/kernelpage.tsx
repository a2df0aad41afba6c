import { useEffect, useRef } from "preact/hooks";
import { count, dims, sentence, stop } from "./format";
import { HistogramPlot } from "./histogram";
import { MemoryPlot, Stalls } from "./kernelcharts";
import { CountedPart, NotCounted } from "./kernelcounters";
import { LaunchedFrom, StageTable } from "./kernelorigin";
import { EvidenceList } from "./evidencelist";
import { list } from "./list";
import { untimed, useModel } from "./model";
import { CategoryName, Facts, Meter } from "./parts";
import type { Fact, Kernel } from "./result";
import { RooflinePlot } from "./roofline";
import { kernelHref } from "./route";
import { draw, say } from "./words";

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
        <a href="#kernels" id="back" title={say("back-help")}>
          {say("back")}
        </a>
        {kernel && <Neighbours kernel={kernel} />}
      </p>
      {kernel ? (
        <KernelBody kernel={kernel} title={title} />
      ) : (
        <>
          <h1 ref={title} tabIndex={-1}>
            {say("no-such-kernel")}
          </h1>
          <p>{say("no-such-kernel-note", { id: p.id })}</p>
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
          {say("previous")}
        </a>
      )}
      <span class="quiet">
        {say("kernel-place", { n: i + 1, of: kernels.length })}
      </span>
      {after && (
        <a href={kernelHref(after.id)} rel="next">
          {say("following")}
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
      <p class="quiet" id="kernel-grid">{say("grid-and-block", { grid: dims(k.grid), block: dims(k.block) })}</p>
      {k.short && k.short !== k.name && <p class="full mono">{k.name}</p>}
      {slow.length > 0 && (
        <p class="callout">
          <strong>{say("launch-bound-stage")}</strong> {say("launch-bound-kernel", { stages: slow.map((s) => s.name).join(", ") })}
        </p>
      )}
      <div class="tiles">
        {untimed(k) ? (
          <>
            <Tile name={say("untimed")} value={say("absent")} note={say("untimed-note")} />
            {k.counted?.duration_ns ? <Tile name={say("under-ncu")} value={k.counted.duration_ns_text} note={say("under-ncu-note")} /> : null}
          </>
        ) : (
          <>
            <Tile name={say("total")} value={k.total_ns_text} note={say(model.result.scope ? "total-note-scope" : "total-note", { share: k.share_text })} />
            <Tile name={say("launches")} value={count(k.calls)} note={say("mean", { time: k.mean_ns_text })} />
            <Tile name={say("median")} value={k.median_ns_text} note={say("from-to", { from: k.min_ns_text, to: k.max_ns_text })} />
          </>
        )}
        <InBaseline kernel={k} />
        <Tile name={say("category")} value={<CategoryName id={k.category} />} note={k.rule ? say("category-rule", { rule: k.rule }) : say("category-no-rule")} />
      </div>
      <div class="columns">
        <div>
          <Limiter kernel={k} />
          <Launch kernel={k} />
          {list(k.stages).length > 0 && <StageTable kernel={k} />}
          <LaunchedFrom kernel={k} />
        </div>
        <div>
          {k.no_point && <p class="quiet">{say("no-point", { why: k.no_point })}</p>}
          {points.length > 0 && (
            <section aria-labelledby="kernel-roof">
              <h2 id="kernel-roof">{say("roofline")}</h2>
              <RooflinePlot id="kernel-roofline" roofs={list(model.result.roofline.roofs)} points={points} memories={points.map((q) => q.memory)} types={points.map((q) => q.dtype)} small />
              <ul class="plain">
                {points.map((q, i) => (
                  <li key={i}>
                    {say("kernel-point", { memory: q.memory.toUpperCase(), moved: moved(q.memory), intensity: q.intensity_text, attained: q.attained_text })}
                  </li>
                ))}
              </ul>
              {k.points_note && <p class="quiet">{stop(sentence(k.points_note))}</p>}
            </section>
          )}
          {k.counted && <MemoryPlot memory={k.counted.memory} />}
          {k.counted && <Stalls stalls={list(k.counted.stalls)} />}
          {!untimed(k) && (
            <section aria-labelledby="kernel-histogram" id="durations">
              <h2 id="kernel-histogram">{say("durations")}</h2>
              {k.histogram ? (
                <HistogramPlot histogram={k.histogram} label={say("durations-of", { n: k.calls })} />
              ) : (
                <p class="quiet">{say("durations-few", { n: k.calls, from: k.min_ns_text, to: k.max_ns !== k.min_ns && k.max_ns_text })}</p>
              )}
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
  if (!there) return <Tile name={say("in-run", { run: result.baseline.name })} value="–" />;
  return <Tile name={say("median-in-run", { run: result.baseline.name })} value={there.median_ns_text} note={say("in-run-note", { n: there.calls, time: there.total_ns_text })} change={result.kernel_changes?.[p.kernel.id]} />;
}

function Limiter(p: { kernel: Kernel }) {
  const l = p.kernel.limiter;
  return (
    <section aria-labelledby="kernel-limiter" id="limiter">
      <h2 id="kernel-limiter">{say("limiter-title")}</h2>
      {l.kind ? (
        <p class="verdict">
          <strong>{l.label}</strong>
          {l.detail && <span class="quiet"> {l.detail}</span>}
          {l.level != null && <Meter share={l.level} label={l.level_label} />}
        </p>
      ) : (
        <p class="verdict">
          <strong>{say("no-verdict")}</strong>
        </p>
      )}
      {l.why && <p>{stop(sentence(l.why))}</p>}
      {l.cause && (l.cause.text || list(l.cause.need).length > 0) && (
        <p class="cause">
          <strong>{say("cause")}</strong> {l.cause.text ? `${stop(l.cause.text)} ${stop(l.cause.next ?? "")}` : say("cause-untold", { sections: list(l.cause.need).join(", ") })}
        </p>
      )}
      {list(p.kernel.other_limiters).map((o) => (
        <p key={o.timeline_ns} class="other-limiter">
          {draw("other-limiter", { time: o.timeline_ns_text, n: o.calls, share: o.share_text, limiter: <strong>{o.limiter.label}</strong>, level: o.limiter.level_text })} {stop(sentence(o.limiter.why))}
        </p>
      ))}
      {l.need && <p class="quiet">{say("limiter-need", { need: l.need })}</p>}
      {p.kernel.attained != null && (
        <p class="quiet">
          {say("busiest", { unit: p.kernel.attained_label, share: p.kernel.attained_text, how: measuredBy(p.kernel) })}
        </p>
      )}
      <EvidenceList items={l.evidence} />
    </section>
  );
}

/** Which bytes the roofline of a level of memory counts; "" where it is none. */
function moved(memory: string | undefined): string {
  return memory === "dram" || memory === "l2" || memory === "l1" ? say(`moved-${memory}`) : "";
}

/** What the share of the busiest unit is a share of: a unit of memory can be busy with more than the bytes of its roofline. */
function measuredBy(k: Kernel): string {
  const bytes = moved(k.attained_of);
  if (!bytes || !k.attained_metric) return bytes;
  return say("busiest-by", { metric: k.attained_metric.split(".")[0], bytes: list(k.points).some((q) => q.memory === k.attained_of) && bytes });
}

function Launch(p: { kernel: Kernel }) {
  const k = p.kernel;
  const facts: Fact[] = [
    { name: say("grid"), value: dims(k.grid) },
    { name: say("block"), value: dims(k.block) },
  ];
  if (k.waves) facts.push({ name: say("waves"), value: k.waves_text ?? "" });
  if (k.registers) facts.push({ name: say("registers"), value: count(k.registers) });
  if (k.static_shared_bytes) facts.push({ name: say("static-shared"), value: k.static_shared_bytes_text ?? "" });
  if (k.dynamic_shared_bytes) facts.push({ name: say("dynamic-shared"), value: k.dynamic_shared_bytes_text ?? "" });
  return (
    <section aria-labelledby="kernel-launch">
      <h2 id="kernel-launch">{say("launch")}</h2>
      <Facts facts={facts} />
      {k.mangled && k.mangled !== k.name && (
        <details>
          <summary>{say("mangled")}</summary>
          <p class="full mono">{k.mangled}</p>
        </details>
      )}
    </section>
  );
}
