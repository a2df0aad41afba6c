import { useMemo } from "preact/hooks";
import { count, percent, time } from "./format";
import { list } from "./list";
import { useModel, type Model, type Told } from "./model";
import type { Box, Lane } from "./result";
import { DataTable } from "./table";

/** What the name of a box stands for. Names of kernels are those of the scope, so a box outside it has no other name than its own. */
export function tell(model: Model, lane: Lane, box: Box, name: string): Told {
  const { scope } = model.result;
  const outside = scope && (box.s + box.l < scope.start_ns || box.s > scope.end_ns);
  return lane.kind === "kernel" && !outside ? model.tell(name) : { short: name || "unnamed", full: [] };
}

/** The full name where the short one leaves something out. */
export function fullName(told: Told): string {
  if (told.full.length > 1) return `one of ${count(told.full.length)} kernels of this short name`;
  return told.full[0] && told.full[0] !== told.short ? told.full[0] : "";
}

/** The lanes of the timeline as a table, for readers who do not see the canvas. */
export function LaneTable(p: { lanes: Lane[]; span: number }) {
  const model = useModel();
  const rows = useMemo(() => p.lanes.map((lane, i) => ({ lane, i, ...summary(lane, model) })), [p.lanes]);
  return (
    <DataTable
      id="lane-table"
      caption="Lanes of the timeline"
      rows={rows}
      rowKey={(r) => r.i}
      minWidth={44}
      columns={[
        {
          id: "lane",
          head: "Lane",
          title: "Lane, and the process or device that it belongs to",
          width: 13,
          wrap: true,
          cell: (r) => (
            <span class="two-lines">
              {r.lane.label}
              {r.lane.group && <span class="quiet">{r.lane.group}</span>}
            </span>
          ),
          key: (r) => r.lane.label,
        },
        { id: "kind", head: "Kind", width: 4.8, cell: (r) => r.lane.kind, key: (r) => r.lane.kind },
        { id: "events", head: "Events", width: 5.5, num: true, cell: (r) => count(r.lane.events), key: (r) => r.lane.events },
        {
          id: "busy",
          head: "Busy",
          title: "Busy time, and its share of the timeline",
          width: 6.5,
          num: true,
          cell: (r) => (
            <span class="two-lines">
              {time(r.busy)}
              <span class="quiet">{percent(r.busy / p.span)}</span>
            </span>
          ),
          key: (r) => r.busy,
        },
        {
          id: "top",
          head: "Most time in",
          wrap: true,
          cell: (r) => (
            <ul class="plain">
              {r.top.map((t, i) => (
                <li key={i} title={t.full}>
                  <bdi>{t.name}</bdi> <span class="quiet">({time(t.ns)})</span>
                </li>
              ))}
            </ul>
          ),
        },
      ]}
    />
  );
}

interface Summary {
  busy: number;
  top: { name: string; full: string; ns: number }[];
}

/** Busy time of a lane, and the names that take the most of it. */
function summary(lane: Lane, model: Model): Summary {
  const names = list(model.result.overview.names);
  let busy = 0;
  const by = new Map<string, { told: Told; ns: number }>();
  for (const b of list(lane.boxes)) {
    const ns = b.c && b.c > 1 ? (b.b ?? b.l) : b.l;
    busy += ns;
    const told = tell(model, lane, b, names[b.n] ?? "");
    const sum = by.get(told.short);
    if (sum) sum.ns += ns;
    else by.set(told.short, { told, ns });
  }
  const top = [...by.values()].sort((a, b) => b.ns - a.ns).slice(0, 3);
  return { busy, top: top.map(({ told, ns }) => ({ name: told.short, full: fullName(told) || told.short, ns })) };
}
