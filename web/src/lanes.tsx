import type { Model, Told } from "./model";
import type { Lane } from "./result";
import { say } from "./words";

/** What the name of a box stands for, of a launch with the grid and block that it has. Names of kernels are those of the scope, so a box outside it has no other name than its own. */
export function tell(model: Model, lane: Lane, box: { s: number; l: number }, name: string, shape?: number[]): Told {
  const { scope } = model.result;
  const outside = scope && (box.s + box.l < scope.start_ns || box.s > scope.end_ns);
  const one = lane.kind === "kernel" && !outside && shape ? model.shaped(name, shape) : [];
  if (one.length === 1) return { short: model.label(one[0]!), full: [one[0]!.name] };
  return lane.kind === "kernel" && !outside ? model.tell(name) : { short: name || say("unnamed"), full: [] };
}

/** The full name where the short one leaves something out. */
export function fullName(told: Told): string {
  if (told.full.length > 1) return say("one-of-names", { n: told.full.length });
  return told.full[0] && told.full[0] !== told.short ? told.full[0] : "";
}

