import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { announce } from "./announce";
import { columnsOf, linesOf, SmallTable } from "./columns";
import { useFitting } from "./fitting";
import { sentence, stop } from "./format";
import { list } from "./list";
import { useModel } from "./model";
import { Modules } from "./modules";
import { neighbour } from "./neighbor";
import { Breakable, Facts, KernelLink, Section } from "./parts";
import { inkOn } from "./palette";
import { layOut, regionAt, regionKey, regionName, regionTree, withoutShares, type Flame, type Measure, type Node } from "./regiontree";
import { openKernel, useKept } from "./route";
import { SplitBar } from "./stages";
import { useTheme } from "./theme";
import { hideTip, showTip } from "./tip";
import { useLabels } from "./width";
import { say } from "./words";

export function Regions() {
  const { result, timed } = useModel();
  const roots = useMemo(() => regionTree(result), [result]);
  const merged = useMemo(() => withoutShares(roots), [roots]);
  const [flame, setFlame] = useKept("flame");
  const by: Measure = flame === "wall" && timed ? "wall" : "kernel";
  const [focused, setFocused] = useKept("flame-zoom");
  const [chosen, setChosen] = useKept("region");
  const focus = useMemo(() => regionAt(merged, focused), [merged, focused]);
  const selected = useMemo(() => regionAt(roots, chosen), [roots, chosen]);
  const tops = useMemo(() => (focus ? [focus] : merged), [focus, merged]);
  if (roots.length === 0 && !timed) return null; // the first screen says why
  if (roots.length === 0) {
    return (
      <Section id="regions" title={say("regions")}>
        <p class="quiet">{say("regions-none")}</p>
      </Section>
    );
  }
  const select = (n: Node | null) => {
    setChosen(n ? regionKey(n) : "");
    if (n) announce(say("region-chosen", { path: n.region.path }));
  };
  return (
    <Section id="regions" title={say("regions")} lead={say("regions-lead")}>
      <div class="toolbar" role="toolbar" aria-label={say("flame")}>
        {timed && <fieldset class="choice">
          <legend class="unseen">{say("flame-width")}</legend>
          {(["kernel", "wall"] as const).map((m) => (
            <label key={m}>
              <input type="radio" name="flame-by" checked={by === m} onChange={() => setFlame(m === "wall" ? m : "")} />
              {say(m === "kernel" ? "gpu-time" : "wall-time")}
            </label>
          ))}
        </fieldset>}
        {focus && (
          <button type="button" onClick={() => setFocused("")}>
            {say("regions-all")}
          </button>
        )}
      </div>
      <FlameGraph tops={tops} whole={focus ? (by === "wall" ? focus.flame.wall_ns : focus.flame.gpu_ns) : by === "wall" ? result.flame.wall_ns : result.flame.gpu_ns} by={by} selected={selected} select={select} zoom={(n) => setFocused(regionKey(n))} />
      <Modules />
      <div class="split-view">
        <Tree roots={roots} by={by} selected={selected} select={select} />
        <Detail node={selected} />
      </div>
    </Section>
  );
}

const boxHeight = 24;

function FlameGraph(p: { tops: Node[]; whole: number; by: Measure; selected: Node | null; select: (n: Node) => void; zoom: (n: Node) => void }) {
  const model = useModel();
  const { dark } = useTheme();
  const boxes = useMemo(() => layOut(p.tops, p.by, p.whole), [p.tops, p.by, p.whole]);
  const depth = boxes.reduce((m, b) => Math.max(m, b.depth), 0) + 1;
  const holder = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(0);
  const fitting = useLabels(holder);
  const focusNext = useRef(-1);
  const current = Math.min(at, boxes.length - 1);

  useEffect(() => {
    if (focusNext.current < 0) return;
    holder.current?.querySelector<HTMLElement>(`[data-box="${focusNext.current}"]`)?.focus();
    focusNext.current = -1;
  });

  if (boxes.length === 0) return <p class="quiet">{say("flame-none")}</p>;

  const label = (b: Flame) => {
    const k = model.kernels[b.kernel];
    return b.kernel < 0 ? b.label : k ? model.label(k) : say("to-kernel");
  };
  const about = (b: Flame): string[] => {
    const k = model.kernels[b.kernel];
    if (b.rest) return [say("flame-rest", { path: b.node?.region.path })];
    if (b.kernel < 0) return b.node ? [b.node.region.path] : [];
    return [say("flame-kernel", { grid: k?.grid.join("×"), block: k?.block.join("×") })];
  };
  const lines = (b: Flame) => [label(b), b.time, ...about(b)].filter(Boolean);
  function open(b: Flame) {
    if (b.kernel >= 0) {
      const k = model.kernels[b.kernel];
      if (k) openKernel(k.id);
    } else if (b.node) p.select(b.node);
  }
  function onKey(e: TargetedKeyboardEvent<HTMLDivElement>) {
    const b = boxes[current];
    if (!b) return;
    const next = neighbour(boxes, current, e.key);
    if (next >= 0) {
      e.preventDefault();
      focusNext.current = next;
      setAt(next);
    } else if (e.key.toLowerCase() === "z" && b.node) {
      p.zoom(b.node);
    }
  }
  return (
    <>
      <div ref={holder} class="flame" id="flame" role="group" aria-label={say("flame-label")} style={{ height: `${depth * boxHeight}px` }} onKeyDown={onKey} onPointerLeave={hideTip}>
        {boxes.map((b, i) => {
          const kernel = b.kernel >= 0 ? model.kernels[b.kernel] : undefined;
          const colour = b.rest ? undefined : kernel ? model.palette.category(kernel.category) : model.palette.range(b.label, dark);
          return (
            <button
              key={i}
              type="button"
              data-box={i}
              tabIndex={i === current ? 0 : -1}
              class={b.rest ? "box rest" : b.kernel < 0 && b.node === p.selected ? "box chosen" : "box"}
              aria-label={lines(b).join(", ")}
              style={{
                left: `${b.from * 100}%`,
                width: `${b.width * 100}%`,
                top: `${b.depth * boxHeight}px`,
                backgroundColor: colour,
                color: kernel && colour ? inkOn(colour) : "var(--ink)",
              }}
              onClick={() => open(b)}
              onDblClick={() => b.kernel < 0 && !b.rest && b.node && p.zoom(b.node)}
              onFocus={() => setAt(i)}
              onPointerMove={(e) => showTip(e.clientX, e.clientY, lines(b))}
            >
              <span class="box-text">{fitting(label(b), b.width) && label(b)}</span>
            </button>
          );
        })}
      </div>
      <p class="quiet hint">{say(p.by === "wall" ? "flame-help-wall" : "flame-help")}</p>
    </>
  );
}

const step = 200; // children of one region that are shown at once

function Tree(p: { roots: Node[]; by: Measure; selected: Node | null; select: (n: Node) => void }) {
  const [open, setOpen] = useState(() => new Set(p.roots.filter((r) => p.roots.length <= 8 && r.children.length <= 20).map((r) => r.index)));
  const { result, timed } = useModel();
  const declared = useMemo(() => columnsOf(result.tables["regions"]), [result]);
  const frame = useRef<HTMLDivElement>(null);
  const { columns, note } = useFitting(frame, declared);
  const lines = useMemo(() => linesOf(result.tables["regions"]), [result]);
  const [limit, setLimit] = useState(step);
  const body = useRef<HTMLTableSectionElement>(null);
  const [at, setAt] = useState(-1);
  const focusNext = useRef(-1);

  const rows: Node[] = [];
  const walk = (nodes: Node[]) => {
    for (const n of nodes) {
      rows.push(n);
      if (open.has(n.index)) walk(n.children);
    }
  };
  walk(p.roots);
  const shown = rows.slice(0, limit);
  const current = shown.some((n) => n.index === at) ? at : (shown[0]?.index ?? -1);

  useEffect(() => {
    if (focusNext.current < 0) return;
    body.current?.querySelector<HTMLElement>(`tr[data-region="${focusNext.current}"]`)?.focus();
    focusNext.current = -1;
  });

  useEffect(() => {
    const around: number[] = [];
    for (let n = p.selected?.parent; n; n = n.parent) around.push(n.index);
    if (around.some((i) => !open.has(i))) setOpen(new Set([...open, ...around]));
  }, [p.selected]);

  function toggle(n: Node, on: boolean) {
    const next = new Set(open);
    if (on) next.add(n.index);
    else next.delete(n.index);
    setOpen(next);
  }
  function go(n: Node | null | undefined) {
    if (!n) return;
    focusNext.current = n.index;
    setAt(n.index);
  }
  function onKey(e: TargetedKeyboardEvent<HTMLElement>, n: Node) {
    if (e.target !== e.currentTarget) return;
    const i = shown.indexOf(n);
    const actions: Record<string, () => void> = {
      ArrowDown: () => go(shown[i + 1]),
      ArrowUp: () => go(shown[i - 1]),
      Home: () => go(shown[0]),
      End: () => go(shown[shown.length - 1]),
      ArrowRight: () => (n.children.length > 0 && !open.has(n.index) ? toggle(n, true) : go(n.children[0])),
      ArrowLeft: () => (open.has(n.index) ? toggle(n, false) : go(n.parent)),
      Enter: () => p.select(n),
      " ": () => p.select(n),
    };
    const action = actions[e.key];
    if (!action) return;
    e.preventDefault();
    action();
  }
  return (
    <>
    <div ref={frame} class="scroll" role="region" aria-label={say("regions-tree")}>
      <table class="data tree" role="treegrid" aria-label={say("regions")} id="region-tree">
        <thead>
          <tr>
            <th scope="col">{say("region")}</th>
            {columns.slice(1).map((c) => (
              <th key={c.id} scope="col" class={c.num ? "num" : undefined} title={c.title}>
                {c.head}
              </th>
            ))}
            {timed && <th scope="col">{say("busy-and-idle")}</th>}
          </tr>
        </thead>
        <tbody ref={body}>
          {shown.map((n) => {
            const expanded = open.has(n.index);
            return (
              <tr
                key={n.index}
                data-region={n.index}
                aria-level={n.region.depth + 1}
                aria-expanded={n.children.length ? expanded : undefined}
                aria-selected={p.selected === n}
                tabIndex={n.index === current ? 0 : -1}
                class={p.selected === n ? "opens chosen" : "opens"}
                onKeyDown={(e) => onKey(e, n)}
                onFocus={() => setAt(n.index)}
                onClick={() => p.select(n)}
              >
                <th scope="row" style={{ paddingLeft: `${0.5 + depthOf(n) * 1.1}rem` }} title={n.region.path}>
                  {n.children.length > 0 ? (
                    <button
                      type="button"
                      class="twist"
                      tabIndex={-1}
                      aria-label={say(expanded ? "close" : "open")}
                      onClick={(e) => {
                        e.stopPropagation();
                        toggle(n, !expanded);
                      }}
                    >
                      {expanded ? "▾" : "▸"}
                    </button>
                  ) : (
                    <span class="twist" aria-hidden="true" />
                  )}
                  <bdi>{regionName(n)}</bdi>
                  {n.region.style === "startend" && <span class="quiet"> {say("start-end")}</span>}
                  {n.region.process != null && <span class="quiet"> {say("process", { id: String(n.region.process) })}</span>}
                  {n.region.device != null && <span class="quiet"> {say("gpu", { device: String(n.region.device) })}</span>}
                </th>
                {columns.slice(1).map((c) => (
                  <td key={c.id} class={c.num ? "num" : "wrap"}>
                    {c.cell(lines[n.index]!)}
                  </td>
                ))}
                {timed && <td class="bar-cell">{n.region.split.wall_ns > 0 && <SplitBar split={n.region.split} compact />}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
      {rows.length > limit && (
        <button type="button" onClick={() => setLimit(limit + step)}>
          {say("show-more", { n: Math.min(step, rows.length - limit), of: rows.length - limit })}
        </button>
      )}
    </div>
    {note}
    </>
  );
}

function depthOf(n: Node): number {
  let d = 0;
  for (let up = n.parent; up; up = up.parent) d++;
  return d;
}

function Detail(p: { node: Node | null }) {
  const model = useModel();
  const { timed } = model;
  if (!p.node) return null;
  const r = p.node.region;
  const top = list(r.top);
  const counters = r.counters;
  const own = counters?.exclusive;
  const columns = list(model.result.tables["regions"]?.columns);
  const cells = list(model.result.tables["regions"]?.rows)[p.node.index]!;
  const outside = new Map(list(own?.metrics).map((m) => [m.name, m.text]));
  return (
    <article class="detail" id="region-detail">
      <h3>{r.path || say("unnamed")}</h3>
      <Facts
        facts={columns
          .slice(1)
          .map((c, i) => ({ name: c.title, value: cells[i + 1]!.t }))
          .filter((f) => f.value)}
      />
      {r.split.launch_bound && (
        <p class="callout">
          <strong>{say("launch-bound")}</strong> {r.split.gain_ns ? say("region-launch-bound", { time: r.split.gain_ns_text }) : ""}
        </p>
      )}
      {r.split.wall_ns > 0 && <SplitBar split={r.split} />}
      <SmallTable
        view="region_kernels"
        caption={say("region-kernels")}
        seen
        rows={top.slice(0, 12)}
        draw={{ kernel: (k) => (model.kernels[k.kernel] ? <KernelLink kernel={model.kernels[k.kernel]!} /> : say("not-in-page")) }}
      />
      {counters ? (
        <SmallTable
          view="region_counters"
          caption={`${say("region-counters", { method: counters.method, share: timed && counters.coverage_text, own: own?.coverage_text })} ${counters.note ? stop(sentence(counters.note)) : ""}`}
          seen
          rows={list(counters.metrics)}
          without={own ? [] : ["own"]}
          draw={{
            name: (m) => <span class="mono"><Breakable text={m.name} /></span>,
            value: (m) => m.text,
            own: (m) => outside.get(m.name) ?? <span class="quiet" title={say("exclusive-absent")}>{say("absent")}</span>,
            how: (m) => say("counter-how", { how: m.how, share: m.coverage_text }),
          }}
        />
      ) : (
        <p class="quiet">{r.why ? say("not-counted", { why: r.why }) : say("region-not-counted")}</p>
      )}
    </article>
  );
}
