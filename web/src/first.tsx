import { Tile } from "./kernelpage";
import { sentence, stop } from "./format";
import { list } from "./list";
import { untimed, useModel, type Model } from "./model";
import { Shortened, Swatch } from "./parts";
import { usePrinting } from "./printing";
import type { Stage } from "./result";
import { evidence, shownAt } from "./evidence";
import { SplitBar, useParts } from "./stages";
import { draw, say } from "./words";

const mostActions = 3;
const mostPlain = 5; // findings of the first page on paper
const mostKernels = 5; // of it

/** The first screen: what the result says, in a sentence, a few numbers, bars and the three changes that save most. */
export function First() {
  const model = useModel();
  const { result } = model;
  const tiles = list(result.tiles);
  return (
    <div class="head" id="first">
      <Notices model={model} />
      <p class="subject">
        <b title={model.subject}>{model.subject}</b>
        <span class="quiet">{subjectFacts(model).join(" · ")}</span>
      </p>
      <h1 id="verdict">{sentence(result.verdict)}</h1>
      {result.scope && (
        <p class="scope" id="scope" role="note" title={result.scope.text}>
          <span class="tag">{say("scope")}</span> {result.scope.text_short ?? result.scope.text}
        </p>
      )}
      {!model.timed && <Untold model={model} />}
      {tiles.length > 0 && (
        <div class="tiles" id="measures">
          {tiles.map((t) => (
            <Tile key={t.name} {...t} />
          ))}
        </div>
      )}
      <StageBars />
      <Actions />
      <OnPaper />
    </div>
  );
}

function Notices(p: { model: Model }) {
  const { source, preliminary, unfinished } = p.model.result;
  return (
    <>
      {source.recorded && (
        <p class="recorded-note" role="note">
          <span class="tag recorded">{say("recorded")}</span> {say("recorded-note")}
        </p>
      )}
      {preliminary && (
        <p class="recorded-note" role="note" id="preliminary">
          <span class="tag recorded">{say("preliminary")}</span> {say("preliminary-note")}
        </p>
      )}
      {unfinished && (
        <p class="callout unfinished" role="note">
          <strong>{unfinished}</strong> {say("unfinished-note")}
        </p>
      )}
    </>
  );
}

/** Why there are no times: said once, in place of a section for each thing that only a timeline tells. */
function Untold(p: { model: Model }) {
  const { untold } = p.model;
  if (!untold) return null;
  return (
    <p class="callout" id="untold" role="note">
      {stop(sentence(untold.text))} {untold.next && say("next", { what: stop(untold.next) })}
    </p>
  );
}

/** What ran on what, in a few words. */
function subjectFacts(model: Model): string[] {
  const { environment, workload } = model.result;
  const gpus = list(environment.gpus);
  const gpu = gpus.length > 1 ? `${gpus.length} × ${gpus[0]!.name}` : gpus[0]?.name;
  return [gpu, workload.model?.dtype, ...list(workload.shape).map((f) => `${f.name} ${f.value}`)].filter((x): x is string => Boolean(x)).slice(0, 6);
}

function StageBars() {
  const { result } = useModel();
  const stages = list(result.stages).filter((s) => s.split.wall_ns > 0);
  const shown = list(result.first_stages).map((at) => list(result.stages)[at]!);
  if (shown.length === 0) return null;
  return (
    <div class="stage-bars" id="stage-bars">
      {shown.map((s) => (
        <StageBar key={s.name} stage={s} />
      ))}
      <Legend stages={shown} />
      {stages.length > shown.length && (
        <p class="quiet">
          <a href="#time">{say("more", { n: stages.length - shown.length })}</a>
        </p>
      )}
    </div>
  );
}

function StageBar(p: { stage: Stage }) {
  const { name, clean_ms, split } = p.stage;
  return (
    <>
      <a class="stage-name" href={`#time`} title={name}>
        <Shortened name={name} />
      </a>
      <span class="stage-time">
        {clean_ms != null ? <b>{p.stage.clean_ms_text}</b> : <b>{split.wall_ns_text}</b>}
        <span class="quiet">{" "}{say(clean_ms != null ? "unprofiled" : "under-nsys")}</span>
      </span>
      <SplitBar split={split} bare />
    </>
  );
}

/** Every part of the bars once. */
function Legend(p: { stages: Stage[] }) {
  const seen = new Map<string, ReturnType<typeof useParts>[number]>();
  for (const s of p.stages) {
    for (const x of useParts(s.split)) seen.set(`${x.idle}${x.id}`, x);
  }
  return (
    <ul class="legend">
      {[...seen.values()]
        .sort((x, y) => Number(x.idle) - Number(y.idle))
        .map((x) => (
          <li key={x.label}>
            <Swatch colour={x.colour} hatch={x.hatch} />
            {x.idle ? say("no-kernel", { why: x.label }) : x.label}
          </li>
        ))}
    </ul>
  );
}

/** The three changes that save most, or where none is known the findings that weigh most. */
function Actions() {
  const model = useModel();
  const found = list(model.result.opportunities).slice(0, mostActions);
  if (found.length === 0) {
    const findings = list(model.result.findings).slice(0, mostActions);
    if (findings.length === 0) return null;
    return (
      <ol class="actions" id="actions">
        {findings.map((f) => {
          const [href, where] = shownAt(model, f.id) ?? [`#finding-${f.id}`, say("finding")];
          const waits = model.result.where[f.id]?.wait_ns_text;
          return (
            <li key={f.id}>
              <a class="action" href={`#finding-${f.id}`}>
                {f.plain || f.text}
              </a>
              <span class="saves">{waits && draw("waits", { time: <b>{waits}</b> })}</span>
              <a href={href}>{where}</a>
            </li>
          );
        })}
      </ol>
    );
  }
  return (
    <ol class="actions" id="actions">
      {found.map((o) => {
        const [href, where] = evidence(model, o);
        return (
          <li key={o.id}>
            <a class="action" href={`#opportunity-${o.id}`}>
              {o.title}
            </a>
            <span class="saves">
              {draw(o.estimated ? "saves-about" : "saves-up-to", { time: <b>{o.seconds_text}</b> })}
            </span>
            <a href={href}>{where}</a>
          </li>
        );
      })}
    </ol>
  );
}

/** On paper the first page is for those who read no other: what was found, in plain words, where the GPU time goes, and what it was measured on. */
function OnPaper() {
  const model = useModel();
  const { result } = model;
  if (!usePrinting()) return null;
  const findings = list(result.findings).slice(0, mostPlain);
  const kernels = model.kernels.filter((k) => !untimed(k)).slice(0, mostKernels);
  const e = result.environment;
  const versions = (["driver", "cuda", "nsys", "ncu"] as const).filter((id) => e[id]).map((id) => `${say(`environment-${id}`)} ${e[id]}`);
  return (
    <>
      {findings.length > 0 && (
        <div>
          <h2>{say("findings-plainly")}</h2>
          <ul class="plain-findings" id="plain-findings">
            {findings.map((f) => (
              <li key={f.id}>{f.plain || f.text}</li>
            ))}
          </ul>
        </div>
      )}
      {kernels.length > 0 && (
        <table class="data small" id="paper-kernels">
          <caption>{say("paper-kernels")}</caption>
          <tbody>
            {kernels.map((k) => (
              <tr key={k.id}>
                <th scope="row" class="mono">
                  {model.label(k)}
                </th>
                <td class="num">{k.total_ns_text}</td>
                <td class="num">{k.share_text}</td>
                <td>{k.limiter.kind ? k.limiter.label : model.palette.label(k.category)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="quiet">{[...subjectFacts(model), ...versions].join(" · ")}</p>
    </>
  );
}
