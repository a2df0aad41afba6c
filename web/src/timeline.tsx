import type { TargetedKeyboardEvent, TargetedMouseEvent, TargetedPointerEvent } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { announce } from "./announce";
import { instant, percent, time } from "./format";
import { ReportTable } from "./columns";
import { tell } from "./lanes";
import { list } from "./list";
import { Minimap } from "./minimap";
import { useModel } from "./model";
import { Absent, Section } from "./parts";
import { usePrinting } from "./printing";
import { keepState, stateOf, useKept, useLinked } from "./route";
import { isDark, useTheme } from "./theme";
import { Finder, foundText } from "./timelinefinder";
import { around, eventOf, eventText, ranksOf, spanOf, spanText } from "./timelinelinks";
import type { Hit } from "./timelinerows";
import { describe, Selected } from "./timelineselected";
import { TimelineView } from "./timelineview";
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
  const [rankChoice, setRankChoice] = useKept("ranks");
  const allRanks = rankChoice === "all";
  const [full, setFull] = useState(false);
  const mark = useRef<HTMLSpanElement>(null);

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
    if (allRanks) v.showRanks(true);
    setShown({ from: v.from, to: v.to });
    measure(spanOf(stateOf("measure")));
    const observer = new ResizeObserver(() => v.resize());
    observer.observe(canvas.current);
    v.resize();
    void loadEvents().then((events) => {
      if (events) {
        v.refine(events);
        setCarried(events.lanes.reduce((n, l) => n + l.boxes.length, 0));
      }
      follow(stateOf("event")); // it counts every event, of which the boxes were sums
      if (!events) return;
      document.documentElement.dataset["events"] = "true";
      performance.mark("events");
    });
    return () => observer.disconnect();
  }, []);

  useEffect(() => view.current?.draw(), [dark]);

  useEffect(() => {
    const v = view.current;
    if (!v || ranks.length <= 2) return;
    v.showRanks(allRanks);
    v.resize();
    if (selected && !v.selected) select(null);
    else setSelected(v.selected);
  }, [allRanks]);

  useEffect(() => {
    const changed = () => {
      setFull(document.fullscreenElement?.id === "timeline");
      hideTip();
      view.current?.resize();
    };
    document.addEventListener("fullscreenchange", changed);
    return () => document.removeEventListener("fullscreenchange", changed);
  }, []);

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
    keepState("t", spanText(v.from, v.to));
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
    const fine = (v.to - v.from) / 100;
    announce(say("timeline-shows", { from: instant(v.from, fine, v.to), to: instant(v.to, fine, v.to) }));
  }

  /** Measures a stretch of the timeline, or none. */
  function measure(span: [number, number] | undefined) {
    const v = view.current;
    if (!v || (!span && !v.measured)) return;
    v.measured = span ? { from: span[0], to: span[1] } : null;
    v.draw();
    keepState("measure", span ? spanText(...span) : "");
  }
  useLinked("measure", (value) => measure(spanOf(value)));

  /** Selects the event that a link names. */
  function follow(value: string) {
    const v = view.current;
    const named = eventOf(value);
    if (!v || !named) return;
    if (v.folded(named.key) && v.laneOf(named.key) < 0) {
      v.showRanks(true);
      setRankChoice("all");
    }
    const hit = { lane: v.laneOf(named.key), box: named.box, of: named.of };
    if (!v.boxAt(hit)) return;
    v.select(hit);
    setSelected(hit);
  }
  useLinked("event", follow);

  function select(hit: Hit | null) {
    const v = view.current;
    v?.select(hit);
    setSelected(hit && { ...hit });
    keepState("event", v && hit ? eventText(v.keyOf(hit.lane), hit) : "");
    if (!v || !hit) return;
    bringLane(v, hit.lane);
    announce(describe(model, v, hit).join(", "));
  }

  /** Scrolls to where a lane is seen, if it is not. */
  function bringLane(v: TimelineView, lane: number) {
    const at = v.extent(lane);
    if (!mark.current || !at) return;
    mark.current.style.top = `${at.y}px`;
    mark.current.style.height = `${at.height}px`;
    mark.current.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = useMemo(() => {
    const v = view.current;
    if (!v || words.length === 0) return null;
    return v.search((kernel, name) => {
      const text = `${name} ${kernel ? model.tell(name).full.join(" ") : ""}`.toLowerCase();
      return words.every((w) => text.includes(w));
    });
  }, [query, carried, allRanks, view.current]);
  const found = useMemo(() => matches?.count(selected) ?? null, [matches, selected]);

  /** Goes to the next event of a name that holds the words, or the one before. */
  function search(by: 1 | -1) {
    const v = view.current;
    if (!v || !matches) return;
    const hit = matches.next(v.searchFrom(matches, by), by);
    if (!hit) return announce(say("find-none"));
    v.reveal(hit);
    select(hit);
    changed();
    announce(`${foundText(matches.count(hit))}, ${describe(model, v, hit).join(", ")}`);
  }

  function onPointerDown(e: TargetedPointerEvent<HTMLCanvasElement>) {
    const v = view.current;
    if (!v || e.button !== 0) return;
    touches.current.set(e.pointerId, e.offsetX);
    drag.current = { x: e.offsetX, from: v.from, to: v.to, moved: false, measures: e.shiftKey };
    if (!e.shiftKey) measure(undefined);
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
        measure([Math.min(a, b), Math.max(a, b)]);
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
    if (hit) showTip(e.clientX, e.clientY, describe(model, v, hit));
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
        measure(undefined);
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
        {list(model.result.stage_spots).map(({ stage, start, len }) => (
          <button key={stage} type="button" class="spot" onClick={() => act((v) => v.show(start - len * 0.04, start + len * 1.04))}>
            {stage}
          </button>
        ))}
        {ranks.length > 2 && (
          <button
            type="button"
            id="all-ranks"
            aria-pressed={allRanks}
            onClick={() => setRankChoice(allRanks ? "" : "all")}
          >
            {allRanks ? say("ranks-few") : say("ranks-all", { n: ranks.length })}
          </button>
        )}
        <button type="button" id="full-screen" onClick={() => (document.fullscreenElement ? document.exitFullscreen() : document.getElementById("timeline")?.requestFullscreen())}>
          {say(full ? "full-screen-leave" : "full-screen")}
        </button>
        <Finder query={query} setQuery={setQuery} found={found} go={search} />
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
        <span ref={mark} class="lane-mark" aria-hidden="true" />
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
