import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Kernel, Result } from "./result";
import { list } from "./list";
import { Palette } from "./palette";

/** The result with the look-ups that its parts share. */
export class Model {
  readonly palette: Palette;
  readonly kernels: Kernel[];
  private readonly byID = new Map<string, Kernel>();
  private readonly byName = new Map<string, Kernel>();

  constructor(readonly result: Result) {
    this.palette = new Palette(result);
    this.kernels = list(result.kernels);
    for (const k of this.kernels) {
      this.byID.set(k.id, k);
      for (const name of [k.name, k.short]) {
        if (!this.byName.has(name)) this.byName.set(name, k);
      }
    }
  }

  kernel(id: string): Kernel | undefined {
    return this.byID.get(id);
  }

  /** The kernel of that name which takes the most time. */
  named(name: string): Kernel | undefined {
    return this.byName.get(name);
  }

  /** The label of a peak. */
  peak(id: string): string {
    const peaks = [...list(this.result.roofline.roofs), ...list(this.result.environment.gpus).flatMap((g) => list(g.peaks))];
    return peaks.find((p) => p.id === id)?.label ?? id;
  }
}

const Context = createContext<Model | null>(null);
export const ModelProvider = Context.Provider;

export function useModel(): Model {
  const model = useContext(Context);
  if (!model) throw new Error("no result in this part of the page");
  return model;
}
