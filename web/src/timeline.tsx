import type { TargetedKeyboardEvent, TargetedMouseEvent, TargetedPointerEvent } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { announce } from "./announce";
import { instant, percent, time } from "./format";
import { ReportTable } from "./columns";
import { fullName, tell } from "./lanes";
import { list } from "./list";
import { Minimap } from "./minimap";
import { useModel, type Model } from "./model";
import { Absent, KernelLink, Section } from "./parts";
import { usePrinting } from "./printing";
import type { Box, Scope } from "./result";
import { keepState, stateOf, useKept, useLinked } from "./route";
import { isDark, useTheme } from "./theme";
import { TimelineView, type Hit, type Rank } from "./timelineview";
import { hideTip, showTip } from "./tip";
import { loadEvents } from "./events";
import { say } from "./words";

const copyColour = "#66ccee";
const apiColour = "#9aa3ad";

export function Timeline() {
  const model = useModel();
  const { overview, scope } = model.result;
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<TimelineView | null>(null);
  const drag = useRef<{ x: number; from: number; to: number; moved: boolean; measures: boolean } | null>(null);
  const touches = useRef(new Map<number, number>());
  const [shown, setShown] = useState({ from: 0, to: Math.max(1, overview.end_ns - overview.start_ns) });
  const [selected, setSelected] = useState<Hit | null>(null);
  const [carried, setCarried] = useState(0); // events that the view has one by one
  const [query, setQuery] = useKept("find");
  const { dark } = useTheme();
  const printing = usePrinting();
  const ranks = useMemo(() => ranksOf(model), []);
  const [allRanks, setAllRanks] = useState(false);

  useLayoutEffect(() => {
    if (!canvas.current) return;
    const ranges = new Map<string, string>();
    const v = new TimelineView(canvas.current, overview, {
      colour(lane, name) {
        if (lane.kind === "copy") return copyColour;
        if (lane.kind === "api") return apiColour;
        if (lane.kind === "nvtx" || lane.kind === "step" || lane.kind === "layer") {
          const key = `${isDark()}${name}`;
          let c = ranges.get(key);
          if (!c) ranges.set(key, (c = model.palette.range(name, isDark())));
          return c;
        }
        return model.palette.category(model.named(name)?.category ?? "other");
      },
      label: (lane, box, name) => tell(model, lane, box, name).short,
    }, ranks, list(overview.rank_names));
    view.current = v;
    const linked = spanOf(stateOf("t"));
    if (linked) v.show(...linked);
    else if (scope) v.show(...around(scope));
    setShown({ from: v.from, to: v.to });
    follow(stateOf("event"));
    const observer = new ResizeObserver(() => v.resize());
    observer.observe(canvas.current);
    v.resize();
    void loadEvents().then((events) => {
      if (!events) return;
      v.refine(events);
      setCarried(events.lanes.reduce((n, l) => n + l.boxes.length, 0));
      follow(stateOf("event")); // it counts every event, of which the boxes were sums
      document.documentElement.dataset["events"] = "true";
      performance.mark("events");
    });
    return () => observer.disconnect();
  }, []);

  useEffect(() => view.current?.draw(), [dark]);

  useEffect(() => {
    if (ranks.length <= 2) return;
    view.current?.showRanks(allRanks);
    view.current?.resize();
  }, [allRanks]);

  useLayoutEffect(() => {
    if (!view.current) return;
    view.current.paper = printing;
    view.current.resize();
  }, [printing]);

  // Wheel must be able to keep the page from scrolling, which needs a listener
  // that is not passive.
  useEffect(() => {
    const c = canvas.current;
    if (!c) return;
    const onWheel = (e: WheelEvent) => {
      const v = view.current;
      if (!v) return;
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey) {
        e.preventDefault();
        v.pan(((e.deltaX || e.deltaY) / Math.max(1, c.clientWidth)) * 0.8);
      } else if (e.ctrlKey || e.metaKey || document.activeElement === c) {
        e.preventDefault();
        v.zoom(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.006), e.offsetX);
      } else {
        return;
      }
      changed();
    };
    c.addEventListener("wheel", onWheel, { passive: false });
    return () => c.removeEventListener("wheel", onWheel);
  }, []);

  function changed() {
    const v = view.current;
    if (!v) return;
    setShown({ from: v.from, to: v.to });
    keepState("t", `${Math.round(v.from)}-${Math.round(v.to)}`);
  }

  useLinked("t", (value) => {
    const span = spanOf(value);
    if (span) act((v) => v.show(...span));
  });

  function act(change: (v: TimelineView) => void) {
    const v = view.current;
    if (!v) return;
    change(v);
    changed();
    announce(say("timeline-shows", { from: time(v.from), to: time(v.to) }));
  }

  function describe(hit: Hit): string[] {
    const v = view.current;
    const b = v?.boxAt(hit);
    const lane = v?.lane(hit.lane);
    if (!v || !b || !lane) return [];
    const told = tell(model, lane, b, v.name(b));
    const lines = [told.short, say("event-at", { lane: lane.label, at: when(v, b) })];
    if (b.c && b.c > 1) lines.push(say("events-in", { n: b.c, time: time(b.l), busy: time(b.b ?? b.l), share: percent((b.b ?? b.l) / Math.max(1, b.l)) }));
    else lines.push(say("event-lasts", { time: time(b.l) }));
    const full = fullName(told);
    return full ? [...lines, full] : lines;
  }

  /** Selects the event that a link names. */
  function follow(value: string) {
    const v = view.current;
    const hit = eventOf(value);
    if (!v || !hit || !v.boxAt(hit)) return;
    v.select(hit);
    setSelected(hit);
  }
  useLinked("event", follow);

  function select(hit: Hit | null) {
    view.current?.select(hit);
    setSelected(hit && { ...hit });
    keepState("event", hit && (hit.of ?? 1) === 1 ? `${hit.lane}.${hit.box}` : "");
    if (hit) announce(describe(hit).join(", "));
  }

  /** Goes to the next event of a name that holds the words. */
  function search(by: 1 | -1) {
    const v = view.current;
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (!v || words.length === 0) return;
    const hit = v.find((lane, name) => {
      const told = lane.kind === "kernel" ? model.tell(name) : undefined;
      const text = `${name} ${told?.full.join(" ") ?? ""}`.toLowerCase();
      return words.every((w) => text.includes(w));
    }, by);
    if (!hit) return announce(say(by > 0 ? "no-later-event" : "no-earlier-event"));
    v.reveal(hit);
    select(hit);
    changed();
  }

  function onPointerDown(e: TargetedPointerEvent<HTMLCanvasElement>) {
    const v = view.current;
    if (!v || e.button !== 0) return;
    touches.current.set(e.pointerId, e.offsetX);
    drag.current = { x: e.offsetX, from: v.from, to: v.to, moved: false, measures: e.shiftKey };
    if (!e.shiftKey && v.measured) {
      v.measured = null;
      v.draw();
    }
    e.currentTarget.setPointerCapture(e.pointerId);
  }

  function onPointerMove(e: TargetedPointerEvent<HTMLCanvasElement>) {
    const v = view.current;
    if (!v) return;
    if (touches.current.size === 2 && touches.current.has(e.pointerId)) {
      const before = [...touches.current.values()];
      touches.current.set(e.pointerId, e.offsetX);
      const after = [...touches.current.values()];
      const was = Math.max(10, Math.abs(before[0]! - before[1]!));
      const is = Math.max(10, Math.abs(after[0]! - after[1]!));
      v.zoom(was / is, (after[0]! + after[1]!) / 2);
      changed();
      return;
    }
    const d = drag.current;
    if (d && e.buttons & 1) {
      const dx = e.offsetX - d.x;
      if (Math.abs(dx) > 3) d.moved = true;
      if (d.moved && d.measures) {
        const [a, b] = [v.timeAt(d.x), v.timeAt(e.offsetX)];
        v.measured = { from: Math.min(a, b), to: Math.max(a, b) };
        v.draw();
        hideTip();
        return;
      }
      if (d.moved) {
        const shift = (-dx / Math.max(1, e.currentTarget.clientWidth)) * (d.to - d.from);
        v.show(d.from + shift, d.to + shift);
        changed();
        hideTip();
        return;
      }
    }
    const hit = v.hit(e.offsetX, e.offsetY);
    const counter = hit ? undefined : v.counterAt(e.offsetX, e.offsetY);
    if (hit) showTip(e.clientX, e.clientY, describe(hit));
    else if (counter) showTip(e.clientX, e.clientY, [counter.lane.label, counter.value < 0 ? say("absent") : percent(counter.value / 1000), say("counter-at", { device: String(counter.lane.device), at: instant(counter.at, (v.to - v.from) / 1000, v.to) })]);
    else hideTip();
  }

  function onPointerUp(e: TargetedPointerEvent<HTMLCanvasElement>) {
    const v = view.current;
    touches.current.delete(e.pointerId);
    if (v && drag.current && !drag.current.moved) select(v.hit(e.offsetX, e.offsetY));
    drag.current = null;
  }

  function onDoubleClick(e: TargetedMouseEvent<HTMLCanvasElement>) {
    const v = view.current;
    const hit = v?.hit(e.offsetX, e.offsetY);
    const b = hit && v?.boxAt(hit);
    if (b) act((t) => t.show(b.s - b.l * 0.1, b.s + b.l * 1.1));
    else act((t) => t.zoom(0.5, e.offsetX));
  }

  function onKey(e: TargetedKeyboardEvent<HTMLCanvasElement>) {
    const v = view.current;
    if (!v || e.ctrlKey || e.metaKey || e.altKey) return;
    hideTip(); // what it is about moves
    const lane = selected?.lane ?? -1;
    const keys: Record<string, () => void> = {
      "+": () => act((t) => t.zoom(0.6)),
      "=": () => act((t) => t.zoom(0.6)),
      w: () => act((t) => t.zoom(0.6)),
      "-": () => act((t) => t.zoom(1 / 0.6)),
      s: () => act((t) => t.zoom(1 / 0.6)),
      a: () => act((t) => t.pan(-0.2)),
      d: () => act((t) => t.pan(0.2)),
      ArrowLeft: () => (e.shiftKey ? select(v.step(Math.max(lane, 0), -1)) : act((t) => t.pan(-0.2))),
      ArrowRight: () => (e.shiftKey ? select(v.step(Math.max(lane, 0), 1)) : act((t) => t.pan(0.2))),
      ArrowDown: () => select(v.enter(Math.min(v.lanes - 1, lane + 1))),
      ArrowUp: () => select(v.enter(Math.max(0, lane - 1))),
      "0": () => act((t) => t.show(0, t.span)),
      Home: () => act((t) => t.show(0, t.span)),
      Escape: () => {
        v.measured = null;
        select(null);
      },
      f: () => {
        const b = selected && v.boxAt(selected);
        const m = v.measured;
        if (m) act((t) => t.show(m.from, m.to));
        else if (b) act((t) => t.show(b.s - b.l * 0.1, b.s + b.l * 1.1));
      },
      Enter: () => {
        const b = selected && v.boxAt(selected);
        if (b) act((t) => t.show(b.s - b.l * 0.1, b.s + b.l * 1.1));
      },
    };
    const action = keys[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!action) return;
    e.preventDefault();
    action();
    changed();
  }

  const lanes = list(overview.lanes);
  const spots = useMemo(() => stageBoxes(model), [model]);
  if (lanes.length === 0 && !model.timed) return null; // the first screen says why
  if (lanes.length === 0) {
    return (
      <Section id="timeline" title={say("timeline")}>
        <Absent what={say("timeline")} />
      </Section>
    );
  }
  const fine = (shown.to - shown.from) / 100;
  const zoomed = shown.to - shown.from < (view.current?.span ?? Infinity) * 0.999;
  return (
    <Section id="timeline" title={say("timeline")} lead={say("timeline-lead", { end: time(overview.end_ns - overview.start_ns), start: time(overview.start_ns) })}>
      <div class="toolbar" role="toolbar" aria-label={say("timeline")}>
        <button type="button" id="zoom-in" onClick={() => act((v) => v.zoom(0.5))}>
          {say("zoom-in")}
        </button>
        <button type="button" id="zoom-out" onClick={() => act((v) => v.zoom(2))}>
          {say("zoom-out")}
        </button>
        <button type="button" onClick={() => act((v) => v.pan(-0.5))} aria-label={say("earlier")}>
          ←
        </button>
        <button type="button" onClick={() => act((v) => v.pan(0.5))} aria-label={say("later")}>
          →
        </button>
        <button type="button" id="zoom-all" disabled={!zoomed} onClick={() => act((v) => v.show(0, v.span))}>
          {say("whole-run")}
        </button>
        {scope && (
          <button type="button" id="zoom-scope" onClick={() => act((v) => v.show(...around(scope)))}>
            {say("zoom-scope")}
          </button>
        )}
        {spots.map((spot) => (
          <button key={spot.name} type="button" class="spot" onClick={() => act((v) => v.show(spot.box.s - spot.box.l * 0.04, spot.box.s + spot.box.l * 1.04))}>
            {spot.name}
          </button>
        ))}
        {ranks.length > 2 && (
          <button
            type="button"
            id="all-ranks"
            aria-pressed={allRanks}
            onClick={() => {
              select(null);
              setAllRanks(!allRanks);
            }}
          >
            {allRanks ? say("ranks-few") : say("ranks-all", { n: ranks.length })}
          </button>
        )}
        <button type="button" id="full-screen" onClick={() => (document.fullscreenElement ? document.exitFullscreen() : document.getElementById("timeline")?.requestFullscreen())}>
          {say("full-screen")}
        </button>
        <form
          class="finder"
          role="search"
          onSubmit={(e) => {
            e.preventDefault();
            search(1);
          }}
        >
          <input id="timeline-search" type="search" aria-label={say("find-event")} placeholder={say("find-event")} value={query} autocomplete="off" spellcheck={false} onInput={(e) => setQuery(e.currentTarget.value)} />
          <button type="button" id="find-before" onClick={() => search(-1)}>
            {say("find-previous")}
          </button>
          <button type="submit" id="find-next">
            {say("find-next")}
          </button>
        </form>
        <output id="timeline-range" class="quiet" data-from={Math.round(shown.from)} data-to={Math.round(shown.to)}>
          {say("timeline-range", { from: instant(shown.from, fine, shown.to), to: instant(shown.to, fine, shown.to), time: time(shown.to - shown.from) })}
        </output>
      </div>
      <Minimap from={shown.from} to={shown.to} span={Math.max(1, overview.end_ns - overview.start_ns)} go={(f, t) => act((v) => v.show(f, t))} />
      <div class="canvas-box">
        <canvas
          ref={canvas}
          id="timeline-canvas"
          tabIndex={0}
          role="application"
          aria-label={say("timeline-label")}
          aria-describedby="timeline-help"
          onPointerDown={onPointerDown}
          onPointerMove={onPointerMove}
          onPointerUp={onPointerUp}
          onPointerCancel={(e) => {
            touches.current.delete(e.pointerId);
            drag.current = null;
          }}
          onPointerLeave={hideTip}
          onDblClick={onDoubleClick}
          onKeyDown={onKey}
        />
      </div>
      <Selected hit={selected} view={view.current} shown={shown} />
      <p id="timeline-help" class="quiet hint">
        {say("timeline-help", { n: carried || "" })}
      </p>
      <details class="alternative">
        <summary>{say("timeline-as-table")}</summary>
        <ReportTable name="samples" caption={say("samples")} />
        <ReportTable name="lanes" id="lane-table" caption={say("lanes")} minWidth={44} drawn={{ label: { width: 11, wrap: true }, group: { width: 9, wrap: true }, kind: { width: 4.8 }, events: { width: 5.5 }, busy_ns: { width: 6.5 }, share: { width: 6 }, top: { wrap: true } }} />
      </details>
    </Section>
  );
}

/** The lanes of ranks with their names. */
function ranksOf(model: Model): Rank[] {
  const { overview, parts } = model.result;
  return list(overview.ranks).map(({ lane, part, folded }) => {
    const of = list(parts)[part]?.of;
    const name = of?.rank === undefined || of.rank === null ? say("process", { id: String(of?.process ?? "?") }) : say("rank", { rank: String(of.rank) });
    return { lane: { ...lane, label: say("rank-on", { rank: name, host: of?.host }), group: "ranks" }, folded: folded ?? false };
  });
}

/** The part of the timeline that a link names, "FROM-TO" in nanoseconds from its start. */
function spanOf(text: string): [number, number] | undefined {
  const m = text.match(/^(-?\d+)-(\d+)$/);
  return m && Number(m[1]) < Number(m[2]) ? [Number(m[1]), Number(m[2])] : undefined;
}

/** The event that a link names, "LANE.PLACE" in the order of the file. */
function eventOf(text: string): Hit | undefined {
  const m = text.match(/^(\d+)\.(\d+)$/);
  return m ? { lane: Number(m[1]), box: Number(m[2]) } : undefined;
}

/** The scope with a margin. */
function around(scope: Scope): [number, number] {
  const margin = (scope.end_ns - scope.start_ns) * 0.02;
  return [scope.start_ns - margin, scope.end_ns + margin];
}

/** The first range of each stage, to go to. */
function stageBoxes(model: Model): { name: string; box: Box }[] {
  const { stages, overview } = model.result;
  const names = list(overview.names);
  const boxes = list(overview.lanes)
    .filter((l) => l.kind === "nvtx")
    .flatMap((l) => list(l.boxes));
  return list(stages).flatMap((stage) => {
    const wanted = stage.region?.split("/").pop() || stage.name;
    const box = boxes.find((b) => names[b.n] === wanted && !(b.c && b.c > 1));
    return box ? [{ name: stage.name, box }] : [];
  });
}

/** When a box begins, as the axis says it: in a unit that tells it from what lies beside it. */
function when(v: TimelineView, b: Box): string {
  return instant(b.s, (v.to - v.from) / 1000, v.to);
}

/** What is selected; shown is what the view shows, so that this follows it. */
function Selected(p: { hit: Hit | null; view: TimelineView | null; shown: { from: number; to: number } }) {
  const model = useModel();
  const box = p.hit && p.view?.boxAt(p.hit);
  const lane = p.hit && p.view?.lane(p.hit.lane);
  if (!box || !lane || !p.view) return <p class="selected quiet">{say("nothing-selected")}</p>;
  const name = p.view.name(box);
  const kernels = lane.kind === "kernel" ? model.allNamed(name) : [];
  const told = tell(model, lane, box, name);
  const full = fullName(told);
  const several = box.c && box.c > 1;
  return (
    <p class="selected" id="timeline-selected">
      {kernels.length === 1 ? <KernelLink kernel={kernels[0]!} name={told.short} /> : <bdi class="strong">{told.short}</bdi>} <span class="quiet">{say("on-lane", { lane: lane.label })}</span> {when(p.view, box)} + {time(box.l)}
      {several ? say("selected-events", { n: box.c, busy: time(box.b ?? box.l) }) : ""}
      {p.view.sees(box) ? "" : <span class="quiet">{say("selected-not-in-view")}</span>}
      {kernels.length > 1 && kernels.map((k) => <KernelLink key={k.id} kernel={k} />)}
      {full && <span class="full mono">{full}</span>}
    </p>
  );
}
