import { linesOf, ReportTable, type Drawn } from "./columns";
import { sentence, stop } from "./format";
import { useModel } from "./model";
import { Section } from "./parts";

/** Several timelines side by side: each as a whole, by stage and by host, and what ranks exchange. */
export function Ranks() {
  const { result } = useModel();
  if (linesOf(result.tables["ranks"]).length === 0) return null;
  const ranks = result.job !== undefined;
  return (
    <Section id="ranks" title={ranks ? "Ranks" : "Windows and repeats"} lead="Each row is of one timeline alone; the other sections are about one of them.">
      <ReportTable name="ranks" caption={ranks ? "Ranks side by side" : "Timelines side by side"} drawn={{ part: { width: 10 }, meanwhile: { width: 15, wrap: true }, lost: { wrap: true } }} minWidth={62} />
      <Part name="rank_stages" title="Mean pass of each stage" drawn={{ part: { width: 10 } }} />
      <Part name="collectives" title="Communication between ranks" drawn={{ kind: { width: 8 } }} />
      <Part name="messages" title="Communication by size of message" drawn={{ kind: { width: 8 } }} />
      <Part name="nodes" title="Hosts" drawn={{ host: { width: 8 } }} />
    </Section>
  );
}

function Part(p: { name: string; title: string; drawn: Record<string, Drawn> }) {
  const { result } = useModel();
  const table = result.tables[p.name];
  if (linesOf(table).length === 0) return null;
  return (
    <>
      <h3>{p.title}</h3>
      <ReportTable name={p.name} caption={p.title} drawn={p.drawn} />
      {table?.legend && <p class="quiet hint">{stop(sentence(table.legend))}</p>}
    </>
  );
}
