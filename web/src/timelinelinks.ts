// What links say about the timeline, and the places that it has buttons for.
import { list } from "./list";
import type { Model } from "./model";
import type { Scope } from "./result";
import type { Hit, Rank } from "./timelinerows";

/** The lanes of ranks with their names. */
export function ranksOf(model: Model): Rank[] {
  const { overview, parts, rank_labels } = model.result;
  return list(overview.ranks).map(({ lane, part, folded }, i) => {
    const rank = list(parts)[part]?.of.rank;
    return { key: rank == null ? `part${part}` : `rank${rank}`, lane: { ...lane, label: list(rank_labels)[i]!, group: "ranks" }, folded: folded ?? false };
  });
}

/** A part of the timeline, "FROM-TO" in nanoseconds from its start. */
export function spanOf(text: string): [number, number] | undefined {
  const m = text.match(/^(-?\d+)-(\d+)$/);
  return m && Number(m[1]) < Number(m[2]) ? [Number(m[1]), Number(m[2])] : undefined;
}

export function spanText(from: number, to: number): string {
  return `${Math.round(from)}-${Math.round(to)}`;
}

/** An event, "LANE.PLACE" in the order of the file, or as many from there on as are drawn as one, "LANE.PLACExCOUNT". LANE is the key of a lane. */
export function eventOf(text: string): { key: string; box: number; of: number } | undefined {
  const m = text.match(/^(\w+)\.(\d+)(?:x(\d+))?$/);
  return m ? { key: m[1]!, box: Number(m[2]), of: Number(m[3] ?? 1) } : undefined;
}

export function eventText(key: string, hit: Hit): string {
  return `${key}.${hit.box}${(hit.of ?? 1) > 1 ? `x${hit.of}` : ""}`;
}

/** The scope with a margin. */
export function around(scope: Scope): [number, number] {
  const margin = (scope.end_ns - scope.start_ns) * 0.02;
  return [scope.start_ns - margin, scope.end_ns + margin];
}
