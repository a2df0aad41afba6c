import { options } from "preact";
import { useEffect, useState } from "preact/hooks";
import { setPrinting } from "./theme";

const listeners = new Set<(on: boolean) => void>();

function switchTo(on: boolean): void {
  // The browser lays the paper out when this returns, so rendering cannot wait.
  const before = options.debounceRendering;
  options.debounceRendering = (render) => render();
  setPrinting(on);
  for (const l of listeners) l(on);
  unfold(on);
  options.debounceRendering = before;
}

const unfolded = new Set<HTMLDetailsElement>();

/** On paper nothing can be opened, so everything is; it closes again after. */
function unfold(on: boolean): void {
  for (const d of unfolded) d.open = false;
  unfolded.clear();
  if (!on) return;
  for (const d of document.querySelectorAll<HTMLDetailsElement>("main details:not([open])")) {
    d.open = true;
    unfolded.add(d);
  }
}

export function startPrinting(): void {
  addEventListener("beforeprint", () => switchTo(true));
  addEventListener("afterprint", () => switchTo(false));
}

/** Whether the page is being laid out on paper. */
export function usePrinting(): boolean {
  const [on, setOn] = useState(false);
  useEffect(() => {
    listeners.add(setOn);
    return () => void listeners.delete(setOn);
  }, []);
  return on;
}
