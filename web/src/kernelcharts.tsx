import { Fragment } from "preact";
import { SmallTable } from "./columns";
import { list } from "./list";
import { Meter } from "./parts";
import type { MemoryChart, Stall } from "./result";
import { say } from "./words";

const levels: [id: string, name: string][] = [
  ["sm", "SM"],
  ["l1", "L1"],
  ["l2", "L2"],
  ["dram", "DRAM"],
];

/** The bytes between the levels of memory: as wide as their share of the most. */
export function MemoryPlot(p: { memory: MemoryChart | undefined | null }) {
  if (!p.memory) {
    return (
      <section aria-labelledby="kernel-memory" id="memory-chart">
        <h2 id="kernel-memory">{say("memory-chart")}</h2>
        <p class="quiet">{say("memory-none")}</p>
      </section>
    );
  }
  return <Flows memory={p.memory} />;
}

function Flows(p: { memory: MemoryChart }) {
  const flows = list(p.memory.flows);
  const between = (x: string, y: string) => flows.filter((f) => [f.from, f.to].includes(x) && [f.from, f.to].includes(y));
  const most = Math.max(...flows.map((f) => f.moved_bytes), 1);
  const hit: Record<string, string | undefined> = { l1: p.memory.l1_hit_share_text, l2: p.memory.l2_hit_share_text };
  return (
    <section aria-labelledby="kernel-memory" id="memory-chart">
      <h2 id="kernel-memory">{say("memory-chart")}</h2>
      <div class="memory">
        {levels.map(([id, name], i) => (
          <Fragment key={id}>
            {i > 0 && (
              <div class="flows">
                {between(id, levels[i - 1]![0]).length === 0 && <span class="quiet flow-none">{say("flow-none")}</span>}
                {between(id, levels[i - 1]![0]).map((f) => (
                    <div key={f.from + f.to} class="flow" data-flow={`${f.from}-${f.to}`} title={f.counter}>
                      <span>
                        {f.both ? "↔" : f.from === id ? "←" : "→"} {f.moved_bytes_text}
                      </span>
                      <span class="flow-bar" style={{ height: `${1 + (f.moved_bytes / most) * 9}px` }} aria-hidden="true" />
                    </div>
                  ))}
              </div>
            )}
            <div class="level">
              <b>{name}</b>
              {hit[id] && <span class="quiet">{say("cache-hits", { share: hit[id] })}</span>}
            </div>
          </Fragment>
        ))}
      </div>
    </section>
  );
}

export function Stalls(p: { stalls: Stall[] }) {
  const most = p.stalls[0]?.share ?? 1;
  return (
    <section aria-labelledby="kernel-stalls" id="stalls">
      <h2 id="kernel-stalls">{say("stalls")}</h2>
      {p.stalls.length === 0 && <p class="quiet">{say("stalls-none")}</p>}
      <SmallTable
        view="stalls"
        caption={say("stalls")}
        rows={p.stalls}
        draw={{ reason: (s) => <span title={s.reason}>{s.label}</span>, share: (s) => <Meter share={s.share} label={s.share_text} most={most} /> }}
      />
    </section>
  );
}
