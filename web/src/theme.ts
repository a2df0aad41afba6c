import { useEffect, useState } from "preact/hooks";

export type Choice = "auto" | "light" | "dark";

const key = "deepprof-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
let choice: Choice = stored();
let printing = false;

function stored(): Choice {
  try {
    const value = localStorage.getItem(key);
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    return "auto"; // a mailed file may not have storage
  }
}

function apply(): void {
  document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
  for (const l of listeners) l();
}

export function isDark(): boolean {
  if (printing) return false;
  return choice === "auto" ? dark.matches : choice === "dark";
}

export function choose(next: Choice): void {
  choice = next;
  try {
    localStorage.setItem(key, next);
  } catch {
    // The choice holds while the page is open.
  }
  apply();
}

/** Paper is light whatever the screen is. */
export function setPrinting(on: boolean): void {
  printing = on;
  apply();
}

export function startTheme(): void {
  dark.addEventListener("change", apply);
  apply();
}

/** The choice, and whether the page is dark now; renders again on a change. */
export function useTheme(): { choice: Choice; dark: boolean } {
  const [, render] = useState(0);
  useEffect(() => {
    const again = () => render((n) => n + 1);
    listeners.add(again);
    return () => void listeners.delete(again);
  }, []);
  return { choice, dark: isDark() };
}
