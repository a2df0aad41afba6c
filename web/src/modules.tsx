import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { list } from "./list";
import { useModel } from "./model";
import { neighbour, type Placed } from "./neighbor";
import type { ModuleBox } from "./result";
import { useKept } from "./route";
import { useTheme } from "./theme";
import { hideTip, showTip } from "./tip";
import { useLabels } from "./width";
import { say } from "./words";

const boxHeight = 24;

/** The tree of modules as an icicle: as wide as the GPU time of what is launched in them. */
export function Modules() {
  const { result, palette } = useModel();
  const { dark } = useTheme();
  const all = list(result.modules);
  const [path, choose] = useKept("module");
  const chosen = all.find((b) => b.path === path) ?? null;
  const shown = useMemo(() => all.filter((b) => !chosen || inside(b, chosen) || inside(chosen, b)), [all, chosen]);
  const holder = useRef<HTMLDivElement>(null);
  const fitting = useLabels(holder);
  const [at, setAt] = useState(0);
  const focusNext = useRef(-1);
  useEffect(() => {
    if (focusNext.current < 0) return;
    holder.current?.querySelectorAll<HTMLElement>(".box")[focusNext.current]?.focus();
    focusNext.current = -1;
  });
  if (all.length === 0) return null;
  const depth = shown.reduce((m, b) => Math.max(m, b.depth), 0) + 1;
  const placed = shown.map((b) => place(b, chosen));
  const current = Math.min(at, shown.length - 1);
  /** One stop of the Tab key; arrows go from box to box. */
  function onKey(e: TargetedKeyboardEvent<HTMLDivElement>) {
    const next = neighbour(placed, current, e.key);
    if (next < 0) return;
    e.preventDefault();
    focusNext.current = next;
    setAt(next);
  }
  const lines = (b: ModuleBox) => [b.path, `${b.ns_text}, ${b.share_text}`];
  return (
    <>
      <h3>{say("modules")}</h3>
      <div ref={holder} class="flame" id="modules" role="group" aria-label={say("modules-label")} style={{ height: `${depth * boxHeight}px` }} onKeyDown={onKey} onPointerLeave={hideTip}>
        {shown.map((b, i) => {
          const { from, width } = placed[i]!;
          return (
            <button
              key={b.path}
              type="button"
              tabIndex={i === current ? 0 : -1}
              onFocus={() => setAt(i)}
              class={b === chosen ? "box chosen" : "box"}
              aria-label={lines(b).join(", ")}
              style={{ left: `${from * 100}%`, width: `${width * 100}%`, top: `${b.depth * boxHeight}px`, backgroundColor: palette.range(b.name, dark), color: "var(--ink)" }}
              onClick={() => choose(b === chosen ? "" : b.path)}
              onPointerMove={(e) => showTip(e.clientX, e.clientY, lines(b))}
            >
              <span class="box-text">{fitting(b.name, width) && b.name}</span>
            </button>
          );
        })}
      </div>
    </>
  );
}

/** Whether a box lies in another, or is it. */
function inside(b: ModuleBox, other: ModuleBox): boolean {
  return b.depth >= other.depth && b.from >= other.from - 1e-9 && b.from + b.share <= other.from + other.share + 1e-9;
}

/** Where a box is drawn, as shares of the whole width: those around the chosen one fill it. */
function place(b: ModuleBox, chosen: ModuleBox | null): Placed {
  const { depth } = b;
  if (!chosen) return { depth, from: b.from, width: b.share };
  if (!inside(b, chosen)) return { depth, from: 0, width: 1 };
  return { depth, from: (b.from - chosen.from) / chosen.share, width: b.share / chosen.share };
}
