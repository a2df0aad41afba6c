import { columnsOf, type View } from "./columns";
import { count, percent, sentence, stop } from "./format";
import { list } from "./list";
import { useModel } from "./model";
import { Breakable, KernelLink, Section, Shortened } from "./parts";
import type { Operator } from "./result";
import { DataTable, type Column } from "./table";

function remarks(o: Operator): string {
  const names = list(o.kernels);
  return [o.why, o.shapes, names.length > 0 && `${list(o.links).length > 0 ? "runs" : o.total_device_us > 0 ? "launches" : "kernels of its kind:"} ${names.join(", ")}`].filter(Boolean).join("; ");
}

/** What the column of the main kernel does not say already. */
function brief(o: Operator): string {
  const links = list(o.links);
  if (links.length === 0) return remarks(o);
  const more = links.length - 1 + (o.links_more?.kernels ?? 0);
  const main = links[0]!;
  return [!main.own && main.by && `through ${main.by}`, o.shapes, more > 0 && `${count(more)} more ${more === 1 ? "kernel" : "kernels"}`].filter(Boolean).join("; ");
}

/** The limiter of most of an operator's kernel time, below it the share and what was counted where they are not all. */
function OperatorLimit(p: { of: Operator }) {
  const l = p.of.limiter;
  if (!l?.kind) return l?.why ? <span class="quiet" title={sentence(l.why)}>not known</span> : null;
  const parts = [l.share < 0.995 && percent(l.share), l.coverage < 0.995 && `${percent(l.coverage)} counted`].filter(Boolean).join("; ");
  return (
    <span class="level">
      <span class={`limiter limiter-${l.kind.replace(/\W/g, "")}`}>{l.label || l.kind}</span>
      {parts && <span class="quiet">{parts}</span>}
    </span>
  );
}

/** The kernel that takes most of an operator's time, below it the operator that launches it where that is another, and the rest in brief. */
function MainKernel(p: { of: Operator }) {
  const model = useModel();
  const main = list(p.of.links)[0];
  const kernel = main?.kernel ? model.kernel(main.kernel) : undefined;
  const rest = brief(p.of);
  return (
    <span class="kernel-name" title={remarks(p.of)}>
      {kernel && <KernelLink kernel={kernel} />}
      {main && !kernel && (
        <span class="kernel-link" title={main.name}>
          <Shortened name={main.name} />
        </span>
      )}
      {rest && <span class={main ? "quiet rest" : "quiet few-lines"}>{rest}</span>}
    </span>
  );
}

type Row = Operator & { key: number };

function columnsFor(view: View | undefined): Column<Row>[] {
  return columnsOf<Row>(view, {
    name: { value: (o) => o.name, wrap: true, cell: (o) => <span class="mono few-lines" title={o.name}><Breakable text={o.name} /></span> },
    calls: { value: (o) => o.calls, width: 4.2 },
    self_device_us: { value: (o) => o.self_device_us, width: 5 },
    total_device_us: { value: (o) => o.total_device_us, width: 5 },
    self_cpu_us: { value: (o) => o.self_cpu_us, width: 5 },
    total_cpu_us: { value: (o) => o.total_cpu_us, width: 5 },
    limiter: { value: (o) => o.limiter?.label || "~", width: 11, wrap: true, cell: (o) => <OperatorLimit of={o} /> },
    main_kernel: { value: (o) => list(o.links)[0]?.name ?? "~", width: 18.2, wrap: true, cell: (o) => <MainKernel of={o} /> },
    remarks: { value: remarks, width: 20, wrap: true, sorts: false, cell: (o) => <span class="quiet few-lines" title={remarks(o)}>{brief(o)}</span> },
  });
}

export function Operators() {
  const { result } = useModel();
  const rows = list(result.operators).map((o, key) => ({ ...o, key }));
  if (rows.length === 0) return null;
  const cpuOnly = rows.every((o) => o.total_device_us === 0 && o.self_device_us === 0);
  const linked = rows.some((o) => list(o.links).length > 0);
  const limited = rows.some((o) => o.limiter?.kind);
  const columns = columnsFor(result.views["operators"])
    .filter((c) => (!cpuOnly || !c.id.endsWith("device_us")) && (linked ? c.id !== "remarks" : c.id !== "main_kernel") && (c.id !== "limiter" || (linked && limited)))
    .map((c) => (c.id === "main_kernel" && !limited ? { ...c, width: 25 } : c));
  const unlimited = rows.find((o) => o.limiter?.why)?.limiter?.why;
  const lead = [
    "From the torch profiler.",
    result.operators_profiled?.text && stop(sentence(result.operators_profiled.text)),
    "Self time leaves out what an operator calls.",
    cpuOnly && "No operator has GPU time, so they are in the order of their own CPU time.",
    linked && limited && "The limiter holds back more of the time of its kernels than anything else, its own kernels and those of the operators that it calls; below it the share of that time, and how much of it was counted, where that is not all.",
    linked && !limited && unlimited && `What limits them is not known: ${stop(unlimited)}`,
  ];
  return (
    <Section id="operators" title="Operators" lead={lead.filter(Boolean).join(" ")}>
      <DataTable id="operator-table" caption="Operators" rows={rows} columns={columns} rowKey={(o) => o.key} sort={cpuOnly ? "self_cpu_us" : "total_device_us"} minWidth={linked ? 62 : 60} rowHeight={linked ? 46 : undefined} />
    </Section>
  );
}
