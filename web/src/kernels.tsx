import { useEffect, useMemo } from "preact/hooks";
import { announce } from "./announce";
import { columnsOf, linesOf, type Line } from "./columns";
import { list } from "./list";
import { untimed, useModel, type Model } from "./model";
import { Absent, CategoryName, Choice, KernelLink, LimiterName, Meter, Section, Swatch } from "./parts";
import type { CategoryTime, Kernel } from "./result";
import { openKernel, useKept } from "./route";
import { DataTable, type Column } from "./table";
import { say } from "./words";

/** The columns, with bars of shares as long as the largest share allows. */
function columnsFor(model: Model): Column<Line>[] {
  const kernels = model.kernels;
  const most = kernels.reduce((m, k) => Math.max(m, k.share), 0);
  return columnsOf(model.result.tables["kernels"], {
    short: {
      cell: (at) => {
        const k = kernels[at]!;
        return (
          <span class="kernel-name">
            <KernelLink kernel={k} inRow />
            <span class="kernel-line">
              <span class="quiet">
                {say("grid-block", { grid: k.grid.join("×"), block: k.block.join("×") })}
              </span>
              <CategoryName id={k.category} />
            </span>
          </span>
        );
      },
    },
    calls: { width: 6.9 },
    total_ns: { width: 8.2 },
    mean_ns: { width: 7.4 },
    share: { width: 8, cell: (at, text) => (untimed(kernels[at]!) ? <span class="quiet">{say("absent")}</span> : <Meter share={kernels[at]!.share} label={text} most={most} />) },
    ncu_ns: { width: 7 },
    limiter: { width: 12, wrap: true, cell: (at, text) => <LimiterName kernel={kernels[at]!} text={text} /> },
  });
}

/** Goes to the search of the table; once more where the overview was hidden, when its tables and plots know how large they are. */
export function searchKernels(hidden = false): void {
  const search = document.getElementById("kernel-search");
  search?.focus({ preventScroll: true });
  const go = () => search?.closest(".toolbar")?.scrollIntoView(hidden ? { block: "start", behavior: "instant" } : { block: "start" }); // what is found stands below it
  go();
  if (hidden) requestAnimationFrame(() => requestAnimationFrame(go));
}

export function Kernels() {
  const model = useModel();
  const [query, setQuery] = useKept("q");
  const [category, setCategory] = useKept("category");
  const [limiter, setLimiter] = useKept("limiter");
  const [stage, setStage] = useKept("stage");

  const columns = useMemo(() => columnsFor(model), [model]);
  const times = model.kernels.some((k) => !untimed(k));
  const limiters = useMemo(() => [...new Map(model.kernels.map((k) => [limiterOf(k), k.limiter.label]))].filter(([id]) => id).sort((x, y) => (x[1] < y[1] ? -1 : 1)), [model]);
  const categories = list(model.result.categories).filter((c) => model.kernels.some((k) => k.category === c.id));
  const stages = list(model.result.stages).map((s) => s.name);
  const rows = useMemo(() => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    return linesOf(model.result.tables["kernels"]).filter((l) => {
      const k = model.kernels[l.at]!;
      if (category && k.category !== category) return false;
      if (limiter && limiterOf(k) !== (limiter === "-" ? "" : limiter)) return false;
      if (stage && !list(k.stages).some((s) => s.stage === stage)) return false;
      if (words.length === 0) return true;
      const text = `${k.name} ${model.label(k)} ${k.mangled ?? ""} ${k.category}`.toLowerCase();
      return words.every((w) => text.includes(w));
    });
  }, [model, query, category, limiter, stage]);

  useEffect(() => {
    if (query || category || limiter || stage) announce(say("kernels-found", { n: rows.length, of: model.kernels.length }));
  }, [rows]);

  const unmatched = list(list(model.result.categories).find((c) => list(c.unmatched).length > 0)?.unmatched);
  if (model.kernels.length === 0 && !model.timed) return null; // the first screen says why
  if (model.kernels.length === 0) {
    return (
      <Section id="kernels" title={say("kernels")}>
        <Absent what={say("kernels")} />
      </Section>
    );
  }
  return (
    <Section id="kernels" title={say("kernels")} lead={say("kernels-lead", { scope: model.result.scope?.name })}>
      {times && <Categories categories={categories} chosen={category} choose={setCategory} />}
      <div class="toolbar" role="search" aria-label={say("kernels")}>
        <label class="field grow">
          <span>{say("search")}</span>
          <input id="kernel-search" type="search" value={query} placeholder={say("kernels-search")} autocomplete="off" spellcheck={false} onInput={(e) => setQuery(e.currentTarget.value)} />
        </label>
        <Choice label={say("category")} value={category} choose={setCategory} options={categories.map((c) => [c.id, c.label] as const)} />
        {stages.length > 1 && <Choice label={say("stage")} value={stage} choose={setStage} options={stages.map((s) => [s, s] as const)} />}
        <Choice label={say("limiter")} value={limiter} choose={setLimiter} options={[...limiters, ["-", say("not-known")] as const]} />
      </div>
      <p class="quiet" id="kernel-count">
        {rows.length === model.kernels.length ? say("kernels-all", { n: rows.length }) : say("kernels-some", { n: rows.length, of: model.kernels.length })}
      </p>
      <DataTable id="kernel-table" caption={say("kernels")} rows={rows} columns={columns} rowKey={(l) => l.at} sort={times ? "total_ns" : "ncu_ns"} open={(l) => openKernel(model.kernels[l.at]!.id)} minWidth={60} rowHeight={50} empty={say("kernels-no-match")} />
      {unmatched.length > 0 && (
        <details>
          <summary>{say("kernels-unmatched", { n: unmatched.length })}</summary>
          <ul class="mono names">
            {unmatched.slice(0, 500).map((n) => (
              <li key={n}>{n}</li>
            ))}
          </ul>
        </details>
      )}
    </Section>
  );
}

/** What limits a kernel, as a code; "" where nothing tells. */
function limiterOf(k: Kernel): string {
  return [k.limiter.kind, ...list(k.limiter.units)].filter(Boolean).join("-");
}

/** Kernel time by category; choosing one narrows the table to it. */
function Categories(p: { categories: CategoryTime[]; chosen: string; choose: (id: string) => void }) {
  const { palette } = useModel();
  const model = useModel();
  const cells = linesOf(model.result.tables["categories"]).map((l) => l.cells);
  const share = list(model.result.tables["categories"]?.columns).findIndex((c) => c.key === "share");
  const pct = p.categories.map((c) => `${cells[list(model.result.categories).indexOf(c)]?.[share]?.t ?? ""}\u00a0%`);
  if (p.categories.every((c) => c.share === 0)) return null;
  return (
    <>
      <div class="split thin" role="img" aria-label={say("categories-label", { parts: p.categories.map((c, i) => `${c.label} ${pct[i]}`).join("; ") })}>
        {p.categories.map((c, i) => (
          <span key={c.id} class="part" style={{ flexGrow: c.share, backgroundColor: palette.category(c.id) }} title={say("category-title", { category: c.label, share: pct[i] })} />
        ))}
      </div>
      <ul class="legend chips">
        {p.categories.map((c, i) => (
          <li key={c.id}>
            <button type="button" aria-pressed={p.chosen === c.id} onClick={() => p.choose(p.chosen === c.id ? "" : c.id)}>
              <Swatch colour={palette.category(c.id)} />
              <span class="chip-label">{c.label}</span> <b>{pct[i]}</b>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
