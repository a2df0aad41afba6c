import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Table, ViewColumn } from "./columns";
import type { Kernel, Note, Result } from "./result";
import { list } from "./list";
import { Palette } from "./palette";
import { say } from "./words";

/** What the page carries: the result, its verdict and first numbers, its tables with their cells, and names that tell kernels apart where the short ones do not. */
export interface Carried extends Result {
  verdict: string;
  words: Record<string, string>; // see words.ts
  tiles: { name: string; value: string; note?: string; change?: string }[] | null;
  kernel_labels?: string[];
  kernel_changes?: Record<string, string>; // against the baseline, by ID
  tables: Record<string, Table>;
  views: Record<string, ViewColumn[]>; // columns of tables whose rows are in the result
  flame: FlameGraph;
  where: Record<string, Where>; // what shows the evidence of findings, by ID
  subject: string; // what ran: the model, the command, or the file that holds it
  command: string; // of the workload, as a shell takes it; "" where it is not known
  timed: boolean; // times, calls and launches mean something
  untold?: string; // code of the note that says why they do not
  unfinished?: string; // the run holds less than it was to capture
  no_findings: string; // what stands in the place of findings
  counted_kernels: number;
  counted_others: number; // along with those that were chosen
  first_stages: number[] | null; // places of the stages on the first screen
  stage_regions: string[] | null; // by what each stage is measured; "" where its name tells
  stage_spots: { stage: string; start: number; len: number }[] | null; // places of the timeline to go to
  density: number[] | null; // how busy the GPU is over the timeline, in equal parts
  rank_labels: string[] | null; // of overview.ranks
  next_token_parts: TokenPart[] | null;
  step_tokens: StepTokens[] | null; // of serving.over_time
}

/** A part of the time of the next token. */
export interface TokenPart {
  part: string;
  label: string;
  mean_ns: number;
  share_text: string;
}

/** The tokens of the mean step of an interval. */
export interface StepTokens {
  decode: number;
  prompt: number;
  total: number;
}

export interface Where {
  kernel?: string; // ID
  opportunity?: string; // ID
  region?: string; // path
  stage?: string;
  part?: string; // ranks, kernels, operators, use, steps
  wait_ns_text?: string; // how long ranks wait
}

/** What boxes of the flame graph are as wide as, in nanoseconds; regions are by their index. */
export interface FlameGraph {
  gpu_ns: number;
  wall_ns: number;
  regions: FlameRegion[] | null;
}

export interface FlameRegion {
  part?: boolean; // it repeats a part of another for one process or GPU
  gpu_ns: number;
  wall_ns: number;
  gpu_across: number; // what the width stands for below it
  wall_across: number;
  kernels?: { kernel: number; ns: number; ns_text: string; share_text?: string; launches: number; rest: number }[] | null;
  launches?: number; // of kernels that are not listed
  rest?: number; // and their time
}

/** A kernel as the timeline names it. */
export interface Told {
  short: string; // as the table of kernels has it, where it stands for one of its names
  full: string[]; // the names that it may stand for
}

/** The result with the look-ups that its parts share. */
export class Model {
  readonly palette: Palette;
  readonly kernels: Kernel[];
  private readonly byID = new Map<string, Kernel>();
  private readonly byName = new Map<string, Kernel[]>();
  private readonly labels = new Map<string, string>();
  private readonly told = new Map<string, Told>();

  constructor(readonly result: Carried) {
    this.palette = new Palette(result);
    this.kernels = list(result.kernels);
    const labels = list(result.kernel_labels);
    this.kernels.forEach((k, i) => {
      this.byID.set(k.id, k);
      this.labels.set(k.id, (labels[i] || k.short || k.name).replace(/[\t\n\r\f\v]+/g, " ").trim() || say("unnamed"));
      for (const name of new Set([k.name, k.short])) {
        const same = this.byName.get(name);
        if (same) same.push(k);
        else this.byName.set(name, [k]);
      }
    });
  }

  kernel(id: string): Kernel | undefined {
    return this.byID.get(id);
  }

  /** The short name of a kernel, with the words that tell it from others of that name. */
  label(k: Kernel): string {
    return this.labels.get(k.id) ?? (k.short || k.name || say("unnamed"));
  }

  /** The kernel of that name which takes the most time. */
  named(name: string): Kernel | undefined {
    return this.allNamed(name)[0];
  }

  /** Kernels of that name, which differ by their grid; the one with the most time first. */
  allNamed(name: string): Kernel[] {
    return this.byName.get(name) ?? [];
  }

  /** Kernels of that name with a grid and block; all of the name where that is not known. */
  shaped(name: string, shape: number[] | undefined): Kernel[] {
    const all = this.allNamed(name);
    const same = shape && all.filter((k) => [...k.grid, ...k.block].every((n, i) => n === shape[i]));
    return same && same.length > 0 ? same : all;
  }

  /** What the name of a kernel in the timeline stands for. */
  tell(name: string): Told {
    let told = this.told.get(name);
    if (!told) {
      const kernels = this.allNamed(name);
      const labels = new Set(kernels.map((k) => this.label(k)));
      const short = labels.size === 1 ? [...labels][0]! : kernels[0]?.short || name || say("unnamed");
      this.told.set(name, (told = { short, full: [...new Set(kernels.map((k) => k.name))] }));
    }
    return told;
  }

  get timed(): boolean {
    return this.result.timed;
  }

  /** Whether all that is known are ranges that ncu measured. */
  get rangesAlone(): boolean {
    return this.kernels.length === 0 && list(this.result.regions).some((r) => r.times);
  }

  /** What kernels, findings and opportunities are about: the scope, or all. */
  get part(): { name: string; wall: string; busy: string | undefined; launches: number; names: number } {
    const { scope, totals } = this.result;
    if (scope) return { name: scope.name, wall: scope.wall_ns_text, busy: scope.busy_share_text, launches: scope.launches, names: scope.kernel_names };
    return { name: say("whole-timeline"), wall: totals.wall_ns_text, busy: totals.busy_share_text, launches: totals.launches, names: totals.kernel_names };
  }

  /** Why what only a timeline tells is absent. */
  get untold(): Note | undefined {
    return list(this.result.missing).find((n) => n.code === this.result.untold);
  }

  get subject(): string {
    return this.result.subject || say("profile");
  }
}

/** Whether the timeline holds no launch of a kernel. */
export function untimed(k: Kernel): boolean {
  return Boolean(k.untimed);
}

const Context = createContext<Model | null>(null);
export const ModelProvider = Context.Provider;

export function useModel(): Model {
  const model = useContext(Context);
  if (!model) throw new Error("no result in this part of the page");
  return model;
}
