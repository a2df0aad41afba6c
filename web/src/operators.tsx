import { columnsOf, linesOf, type Table } from "./columns";
import { sentence, stop } from "./format";
import { list } from "./list";
import { useModel } from "./model";
import { Breakable, KernelLink, Section, Shortened } from "./parts";
import { DataTable } from "./table";
import { say } from "./words";

export function Operators() {
  const model = useModel();
  const { result } = model;
  const table = result.tables["operators"];
  const host = result.tables["operators_host"];
  if (list(table?.rows).length + list(host?.rows).length === 0) return null;
  const lead = [say("operators-lead"), result.operators_profiled?.text && stop(sentence(result.operators_profiled.text)), table?.legend && stop(sentence(table.legend))];
  return (
    <Section id="operators" title={say("operators")} lead={lead.filter(Boolean).join(" ")}>
      <OperatorTable id="operator-table" caption={say("operators")} table={table} />
      {list(host?.rows).length > 0 && (
        <details class="alternative" id="host-operators">
          <summary>{host!.legend}</summary>
          <OperatorTable id="host-operator-table" caption={host!.legend ?? ""} table={host} />
        </details>
      )}
    </Section>
  );
}

function OperatorTable(p: { id: string; caption: string; table: Table | undefined }) {
  const model = useModel();
  const lines = linesOf(p.table);
  const main = list(p.table?.columns).findIndex((c) => c.key === "main_kernel");
  const kernelOf = (at: number) => model.kernel(lines[at]!.cells[main]?.kernel ?? "");
  return (
    <DataTable
      id={p.id}
      caption={p.caption}
      rows={lines}
      rowKey={(l) => l.at}
      minWidth={62}
      columns={columnsOf(p.table, {
        name: { wrap: true, cell: (_, text) => <span class="mono few-lines" title={text}><Breakable text={text} /></span> },
        main_kernel: { wrap: false, cell: (at, text) => (kernelOf(at) ? <KernelLink kernel={kernelOf(at)!} name={text} /> : <span class="kernel-link"><Shortened name={text} /></span>) },
        calls: { width: 4.4 },
        limiter: { width: 12 },
      })}
    />
  );
}
