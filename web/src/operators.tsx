import { count, percent, sentence, stop, time } from "./format";
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

const us = (v: number) => time(v * 1e3);
const operatorColumns: Column<Operator & { key: number }>[] = [
  { id: "name", head: "Operator", wrap: true, cell: (o) => <span class="mono few-lines" title={o.name}><Breakable text={o.name} /></span>, key: (o) => o.name },
  { id: "calls", head: "Calls", width: 4.2, num: true, cell: (o) => count(o.calls), key: (o) => o.calls },
  { id: "selfdev", head: "Self GPU", width: 5, num: true, cell: (o) => us(o.self_device_us), key: (o) => o.self_device_us },
  { id: "totaldev", head: "Total GPU", width: 5, num: true, cell: (o) => us(o.total_device_us), key: (o) => o.total_device_us },
  { id: "selfcpu", head: "Self CPU", width: 5, num: true, cell: (o) => us(o.self_cpu_us), key: (o) => o.self_cpu_us },
  { id: "totalcpu", head: "Total CPU", width: 5, num: true, cell: (o) => us(o.total_cpu_us), key: (o) => o.total_cpu_us },
  { id: "limiter", head: "Limiter", title: "What holds back more of the time of its kernels than anything else", width: 11, wrap: true, cell: (o) => <OperatorLimit of={o} />, key: (o) => o.limiter?.label || "~" },
  { id: "main", head: "Main kernel, remarks", width: 18.2, wrap: true, cell: (o) => <MainKernel of={o} />, key: (o) => list(o.links)[0]?.name ?? "~" },
  { id: "why", head: "Shapes, kernels, remarks", width: 20, wrap: true, cell: (o) => <span class="quiet few-lines" title={remarks(o)}>{brief(o)}</span> },
];

export function Operators() {
  const { result } = useModel();
  const rows = list(result.operators).map((o, key) => ({ ...o, key }));
  if (rows.length === 0) return null;
  const cpuOnly = rows.every((o) => o.total_device_us === 0 && o.self_device_us === 0);
  const linked = rows.some((o) => list(o.links).length > 0);
  const limited = rows.some((o) => o.limiter?.kind);
  const columns = operatorColumns.filter((c) => (!cpuOnly || !c.id.endsWith("dev")) && (linked ? c.id !== "why" : c.id !== "main") && (c.id !== "limiter" || (linked && limited))).map((c) => (c.id === "main" && !limited ? { ...c, width: 25 } : c));
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
      <DataTable id="operator-table" caption="Operators" rows={rows} columns={columns} rowKey={(o) => o.key} sort={cpuOnly ? "selfcpu" : "totaldev"} minWidth={linked ? 62 : 60} rowHeight={linked ? 46 : undefined} />
    </Section>
  );
}
