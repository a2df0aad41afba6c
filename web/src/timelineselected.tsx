import { dims, instant, percent, time } from "./format";
import { fullName, tell } from "./lanes";
import { useModel, type Model } from "./model";
import { KernelLink } from "./parts";
import type { Box } from "./result";
import type { Hit } from "./timelinerows";
import type { TimelineView } from "./timelineview";
import { draw, say } from "./words";

/** When a box begins, as the axis says it: in a unit that tells it from what lies beside it. */
function when(v: TimelineView, b: Box): string {
  return instant(b.s, (v.to - v.from) / 1000, v.to);
}

/** An event in a few lines. */
export function describe(model: Model, v: TimelineView, hit: Hit): string[] {
  const [b, lane] = [v.boxAt(hit), v.lane(hit.lane)];
  if (!b || !lane) return [];
  const shape = one(b) ? v.shape(b) : undefined;
  const told = tell(model, lane, b, v.name(b), shape);
  const lines = [told.short, say("event-at", { lane: lane.label, at: when(v, b) })];
  if (one(b)) lines.push(say("event-lasts", { time: time(b.l) }));
  else lines.push(say("events-in", { n: b.c, time: time(b.l), busy: time(b.b ?? b.l), share: percent((b.b ?? b.l) / Math.max(1, b.l)) }));
  if (shape) lines.push(shapeText(shape));
  const full = fullName(told);
  return full ? [...lines, full] : lines;
}

function one(b: Box): boolean {
  return !(b.c && b.c > 1);
}

function shapeText(shape: number[]): string {
  return say("grid-block", { grid: dims(shape.slice(0, 3)), block: dims(shape.slice(3)) });
}

/** What launched the selected event, or what it launched. */
function launchText(model: Model, v: TimelineView, hit: Hit, box: Box): string {
  const [first, ...others] = v.launched;
  const there = first && v.boxAt(first);
  const lane = first && v.lane(first.lane);
  if (!there || !lane) return "";
  const name = tell(model, lane, there, v.name(there), v.shape(there)).short;
  if (v.lane(hit.lane)?.kind === "api") return say("event-launches", { name, lane: lane.label, after: time(there.s - box.s), n: others.length || "" });
  return say("event-launched-by", { name, lane: lane.label, before: time(box.s - there.s) });
}

/** What is selected; shown is what the view shows, so that this follows it. */
export function Selected(p: { hit: Hit | null; view: TimelineView | null; shown: { from: number; to: number } }) {
  const model = useModel();
  const { hit, view } = p;
  const box = hit && view?.boxAt(hit);
  const lane = hit && view?.lane(hit.lane);
  if (!box || !lane || !view) return <p class="selected quiet">{say("nothing-selected")}</p>;
  const name = view.name(box);
  const shape = one(box) ? view.shape(box) : undefined;
  const kernels = lane.kind === "kernel" ? model.shaped(name, shape) : [];
  const told = tell(model, lane, box, name, shape);
  const full = fullName(told);
  const layer = view.layer(hit);
  const facts = [shape && shapeText(shape), one(box) && launchText(model, view, hit, box), layer && say("event-layer", { layer })].filter(Boolean);
  return (
    <p class="selected" id="timeline-selected">
      {draw("event-selected", {
        name: kernels.length === 1 ? <KernelLink kernel={kernels[0]!} name={told.short} /> : <bdi class="strong">{told.short}</bdi>,
        lane: <span class="quiet">{lane.label}</span>,
        at: when(view, box),
        time: time(box.l),
        n: one(box) ? undefined : box.c,
        busy: time(box.b ?? box.l),
      })}
      {!view.sees(box) && <span class="quiet"> {say("selected-not-in-view")}</span>}
      {kernels.length > 1 && kernels.map((k) => <KernelLink key={k.id} kernel={k} />)}
      {facts.length > 0 && <span class="event-facts">{facts.join("; ")}</span>}
      {full && <span class="full mono">{full}</span>}
    </p>
  );
}
