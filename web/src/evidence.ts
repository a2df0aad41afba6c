import { list } from "./list";
import type { Model } from "./model";
import type { Opportunity } from "./result";
import { kernelHref, linkTo } from "./route";
import { say } from "./words";

/** A link, and what is seen there. */
export type Shown = [href: string, name: string];

/** Where to look for the evidence of an opportunity. */
export function evidence(model: Model, o: Opportunity): Shown {
  const kernels = list(o.kernels);
  if (o.kind === "fusion") return [`#opportunity-${o.id}`, say("to-chains")];
  if (kernels.length === 1 && model.kernel(kernels[0]!)) return [kernelHref(kernels[0]!), say("to-kernel")];
  return typicalOf(model, o.stage) ?? [`#opportunity-${o.id}`, say("to-evidence")];
}

/** Sections by the part of the result that a finding rests on. */
const sections: Record<string, [id: string, name: string]> = {
  ranks: ["ranks", "ranks"],
  kernels: ["kernels", "kernels"],
  operators: ["operators", "operators"],
  use: ["utilisation", "use-short"],
  steps: ["steps", "steps"],
};

/** Where the evidence of a finding is; undefined where nothing shows it but its words. */
export function shownAt(model: Model, finding: string): Shown | undefined {
  const w = model.result.where[finding];
  if (!w) return undefined;
  if (w.kernel) return model.kernel(w.kernel) && [kernelHref(w.kernel), say("to-kernel")];
  const o = list(model.result.opportunities).find((x) => x.id === w.opportunity);
  if (o) return evidence(model, o);
  if (w.region) return [linkTo("regions", "region", w.region), say("region")];
  const section = w.part && sections[w.part];
  if (section) return [`#${section[0]}`, say(section[1])];
  if (w.stage) return typicalOf(model, w.stage) ?? ["#time", say("time")];
  return undefined;
}

/** The timeline at a typical step or pass of a stage. */
function typicalOf(model: Model, stage: string | undefined): Shown | undefined {
  const typical = list(model.result.stages).find((s) => s.name === stage)?.typical;
  if (!typical) return undefined;
  const margin = Math.round((typical.end_ns - typical.start_ns) * 0.04);
  return [linkTo("timeline", "t", `${typical.start_ns - margin}-${typical.end_ns + margin}`), say(`to-typical-${typical.kind}`)];
}
