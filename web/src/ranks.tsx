import { linesOf, ReportTable, type Drawn } from "./columns";
import { sentence, stop } from "./format";
import { list } from "./list";
import { useModel } from "./model";
import { Section } from "./parts";
import { say } from "./words";

/** Several timelines side by side: each as a whole, by stage and by host, and what ranks exchange. */
export function Ranks() {
  const { result } = useModel();
  if (linesOf(result.tables["ranks"]).length === 0) return null;
  const ranks = result.job !== undefined;
  const detailed = linesOf(result.tables["ranks"]).filter((l) => list(result.parts)[l.at]?.details);
  return (
    <Section id="ranks" title={say(ranks ? "ranks" : "windows")} lead={say("ranks-lead", { part: detailed.length === 1 && detailed[0]!.cells[0]!.t })}>
      <ReportTable name="ranks" caption={say(ranks ? "ranks-table" : "windows-table")} drawn={{ part: { width: 10 }, meanwhile: { width: 15, wrap: true }, lost: { wrap: true } }} minWidth={62} />
      <Part name="rank_stages" title={say("rank-stages")} drawn={{ part: { width: 10 } }} />
      <Part name="rank_steps" title={say("rank-steps")} drawn={{ part: { width: 10 }, stage: { width: 6 } }} />
      <Part name="collectives" title={say("collectives")} drawn={{ kind: { width: 8 } }} />
      <Part name="messages" title={say("messages")} drawn={{ kind: { width: 8 } }} />
      <Part name="nodes" title={say("hosts")} drawn={{ host: { width: 8 } }} />
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
