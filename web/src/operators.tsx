import { columnsOf, linesOf } from "./columns";
import { sentence, stop } from "./format";
import { list } from "./list";
import { useModel } from "./model";
import { Breakable, KernelLink, Section, Shortened } from "./parts";
import { DataTable } from "./table";

export function Operators() {
  const model = useModel();
  const { result } = model;
  const table = result.tables["operators"];
  const lines = linesOf(table);
  if (lines.length === 0) return null;
  const name = list(table?.columns).findIndex((c) => c.key === "name");
  const named = lines.map((l) => l.cells[name]!.t);
  const operators = list(result.operators);
  const kernelOf = (at: number) => {
    const main = list(operators.find((o) => o.name === named[at])?.links)[0];
    return main?.kernel ? model.kernel(main.kernel) : undefined;
  };
  const lead = ["From the torch profiler.", result.operators_profiled?.text && stop(sentence(result.operators_profiled.text)), table?.legend && stop(sentence(table.legend))];
  return (
    <Section id="operators" title="Operators" lead={lead.filter(Boolean).join(" ")}>
      <DataTable
        id="operator-table"
        caption="Operators"
        rows={lines}
        rowKey={(l) => l.at}
        minWidth={62}
        columns={columnsOf(table, {
          name: { wrap: true, cell: (_, text) => <span class="mono few-lines" title={text}><Breakable text={text} /></span> },
          main_kernel: { wrap: false, cell: (at, text) => (kernelOf(at) ? <KernelLink kernel={kernelOf(at)!} name={text} /> : <span class="kernel-link"><Shortened name={text} /></span>) },
          calls: { width: 4.4 },
          limiter: { width: 12 },
        })}
      />
    </Section>
  );
}
