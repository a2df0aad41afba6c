import { SmallTable } from "./columns";
import { list } from "./list";
import { Breakable } from "./parts";
import type { Evidence } from "./result";
import { say } from "./words";

/** The values that a verdict or a saving rests on. */
export function EvidenceList(p: { items: Evidence[] | null | undefined }) {
  const items = list(p.items);
  return (
    <SmallTable
      view="evidence"
      class="evidence"
      caption={say("evidence")}
      rows={items}
      without={items.some((e) => e.threshold) ? [] : ["threshold"]}
      draw={{
        of: (e) => <span class={e.metric ? "mono" : undefined}><Breakable text={e.metric || e.of || ""} /></span>,
        threshold: (e) => <span class={(e.threshold?.length ?? 0) < 16 ? "short" : undefined}>{e.threshold}</span>,
      }}
    />
  );
}
