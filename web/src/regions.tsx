import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { announce } from "./announce";
import { columnsOf, linesOf } from "./columns";
import { count, sentence } from "./format";
import { list } from "./list";
import { useModel } from "./model";
import { Modules } from "./modules";
import { Breakable, Facts, KernelLink, Section } from "./parts";
import { inkOn } from "./palette";
import { layOut, regionName, regionTree, withoutShares, type Flame, type Measure, type Node } from "./regiontree";
import { openKernel } from "./route";
import { SplitBar } from "./stages";
import { useTheme } from "./theme";
import { hideTip, showTip } from "./tip";

export function Regions() {
  const { result, timed } = useModel();
  const roots = useMemo(() => regionTree(result), [result]);
  const merged = useMemo(() => withoutShares(roots), [roots]);
  const [by, setBy] = useState<Measure>("kernel");
  const [focus, setFocus] = useState<Node | null>(null);
  const [selected, setSelected] = useState<Node | null>(null);
  const tops = useMemo(() => (focus ? [focus] : merged), [focus, merged]);
  if (roots.length === 0 && !timed) return null; // the first screen says why
  if (roots.length === 0) {
    return (
      <Section id="regions" title="Regions">
        <p class="quiet">The timeline holds no NVTX ranges, so there are no regions.</p>
      </Section>
    );
  }
  const select = (n: Node | null) => {
    setSelected(n);
    if (n) announce(`Region ${n.region.path}`);
  };
  return (
    <Section id="regions" title="Regions" lead="NVTX ranges with everything launched inside them. Choose a box or a row to see it in detail.">
      <div class="toolbar" role="toolbar" aria-label="Flame graph">
        {timed && <fieldset class="choice">
          <legend class="unseen">Width of a box</legend>
          {(["kernel", "wall"] as const).map((m) => (
            <label key={m}>
              <input type="radio" name="flame-by" checked={by === m} onChange={() => setBy(m)} />
              {m === "kernel" ? "GPU time" : "wall time"}
            </label>
          ))}
        </fieldset>}
        {focus && (
          <button type="button" onClick={() => setFocus(null)}>
            Show all regions
          </button>
        )}
      </div>
      <FlameGraph tops={tops} by={by} selected={selected} select={select} zoom={setFocus} />
      <Modules />
      <div class="split-view">
        <Tree roots={roots} by={by} selected={selected} select={select} />
        <Detail node={selected} />
      </div>
    </Section>
  );
}

const boxHeight = 24;

function FlameGraph(p: { tops: Node[]; by: Measure; selected: Node | null; select: (n: Node) => void; zoom: (n: Node) => void }) {
  const model = useModel();
  const { dark } = useTheme();
  const boxes = useMemo(() => layOut(p.tops, p.by), [p.tops, p.by]);
  const depth = boxes.reduce((m, b) => Math.max(m, b.depth), 0) + 1;
  const holder = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(0);
  const focusNext = useRef(-1);
  const current = Math.min(at, boxes.length - 1);

  useEffect(() => {
    if (focusNext.current < 0) return;
    holder.current?.querySelector<HTMLElement>(`[data-box="${focusNext.current}"]`)?.focus();
    focusNext.current = -1;
  });

  if (boxes.length === 0) return <p class="quiet">No GPU kernel ran inside a region.</p>;

  const label = (b: Flame) => {
    const k = model.kernels[b.kernel];
    return b.kernel < 0 ? b.label : k ? model.label(k) : "kernel";
  };
  const about = (b: Flame): string[] => {
    const k = model.kernels[b.kernel];
    if (b.rest) return [`kernels of ${b.node?.region.path} that take less time than those beside`];
    if (b.kernel < 0) return b.node ? [b.node.region.path] : [];
    return [`kernel${k ? `, grid ${k.grid.join("×")}, block ${k.block.join("×")}` : ""}: opens its page`];
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
      <div ref={holder} class="flame" id="flame" role="group" aria-label="Flame graph of regions. Arrow keys move, Enter opens, Z zooms." style={{ height: `${depth * boxHeight}px` }} onKeyDown={onKey} onPointerLeave={hideTip}>
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
              {b.width > 0.02 && label(b)}
            </button>
          );
        })}
      </div>
      <p class="quiet hint">Double-click a region, or press Z, to zoom to it. The lowest boxes are kernels, coloured by category; grey stands for the many that take little{p.by === "wall" ? ", and what is left empty is time without a kernel" : ""}.</p>
    </>
  );
}

function neighbour(boxes: Flame[], at: number, key: string): number {
  const b = boxes[at]!;
  const middle = b.from + b.width / 2;
  switch (key) {
    case "ArrowDown":
      return boxes.findIndex((o) => o.depth === b.depth + 1 && o.from + o.width > b.from && o.from < b.from + b.width);
    case "ArrowUp":
      return boxes.findIndex((o) => o.depth === b.depth - 1 && o.from <= middle && o.from + o.width >= middle);
    case "ArrowRight": {
      const right = boxes.map((o, i) => ({ o, i })).filter((e) => e.o.depth === b.depth && e.o.from > b.from);
      return right.length ? right.reduce((m, e) => (e.o.from < m.o.from ? e : m)).i : -1;
    }
    case "ArrowLeft": {
      const left = boxes.map((o, i) => ({ o, i })).filter((e) => e.o.depth === b.depth && e.o.from < b.from);
      return left.length ? left.reduce((m, e) => (e.o.from > m.o.from ? e : m)).i : -1;
    }
    default:
      return -1;
  }
}

const step = 200; // children of one region that are shown at once

function Tree(p: { roots: Node[]; by: Measure; selected: Node | null; select: (n: Node) => void }) {
  const [open, setOpen] = useState(() => new Set(p.roots.filter((r) => p.roots.length <= 8 && r.children.length <= 20).map((r) => r.index)));
  const { result, timed } = useModel();
  const columns = useMemo(() => columnsOf(result.tables["regions"]), [result]);
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
    <div class="scroll" role="region" aria-label="Tree of regions">
      <table class="data tree" role="treegrid" aria-label="Regions" id="region-tree">
        <thead>
          <tr>
            <th scope="col">Region</th>
            {columns.slice(1).map((c) => (
              <th key={c.id} scope="col" class={c.num ? "num" : undefined} title={c.title}>
                {c.head}
              </th>
            ))}
            {timed && <th scope="col">Busy and idle</th>}
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
                      aria-label={expanded ? "Close" : "Open"}
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
                  {n.region.style === "startend" && <span class="quiet"> start/end</span>}
                  {n.region.process != null && <span class="quiet"> process {n.region.process}</span>}
                  {n.region.device != null && <span class="quiet"> GPU {n.region.device}</span>}
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
          Show {count(Math.min(step, rows.length - limit))} more of {count(rows.length - limit)}
        </button>
      )}
    </div>
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
      <h3>{r.path || "unnamed"}</h3>
      <Facts
        facts={columns
          .slice(1)
          .map((c, i) => ({ name: c.title, value: cells[i + 1]!.t }))
          .filter((f) => f.value)}
      />
      {r.split.launch_bound && (
        <p class="callout">
          <strong>Launch-bound.</strong>
          {r.split.gain_ns ? ` The GPU waits ${r.split.gain_ns_text} for launches there, under nsys.` : ""}
        </p>
      )}
      {r.split.wall_ns > 0 && <SplitBar split={r.split} />}
      {top.length > 0 && (
        <table class="data small">
          <caption>Kernels inside, by time</caption>
          <thead>
            <tr>
              <th scope="col">Kernel</th>
              <th scope="col" class="num">Launches</th>
              <th scope="col" class="num">GPU time</th>
              <th scope="col" class="num">Of the region</th>
            </tr>
          </thead>
          <tbody>
            {top.slice(0, 12).map((k) => {
              const kernel = model.kernels[k.kernel];
              return (
                <tr key={k.kernel}>
                  <th scope="row" class="name">{kernel ? <KernelLink kernel={kernel} /> : "not in this page"}</th>
                  <td class="num">{count(k.calls)}</td>
                  <td class="num">{k.ns_text}</td>
                  <td class="num">{k.share_text}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
      {counters ? (
        <table class="data small">
          <caption>
            Counters by {counters.method}{timed ? `, covering ${counters.coverage_text} of its GPU time` : ""}{own ? ` (${own.coverage_text} outside nested ranges)` : ""}.{counters.note ? ` ${sentence(counters.note)}.` : ""}
          </caption>
          <thead>
            <tr>
              <th scope="col">Counter</th>
              <th scope="col" class="num">{own ? "Inclusive" : "Value"}</th>
              {own && (
                <th scope="col" class="num" title="Launches outside nested ranges">
                  Exclusive
                </th>
              )}
              <th scope="col">How</th>
            </tr>
          </thead>
          <tbody>
            {list(counters.metrics).map((m) => (
              <tr key={m.name}>
                <th scope="row" class="mono">
                  <Breakable text={m.name} />
                </th>
                <td class="num">{m.text}</td>
                {own && <td class="num">{outside.has(m.name) ? outside.get(m.name) : <span class="quiet" title="No launch outside nested ranges has a counter for it">n/a</span>}</td>}
                <td>
                  {m.how}
                  {m.coverage != null && <span class="quiet">, {m.coverage_text} counted</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <p class="quiet">{r.why ? `Not counted: ${r.why}` : "Nothing in it was counted."}</p>
      )}
    </article>
  );
}
