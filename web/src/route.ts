import { useEffect, useState } from "preact/hooks";

export type Route = { page: "overview"; section: string } | { page: "kernel"; id: string };

/*
 * The hash is a place, "timeline" or "/kernel/ID", and after a question mark the
 * state of the views: what a reader sent with a link, and what they changed since.
 */
let held = new URLSearchParams(query(location.hash));
const listeners = new Map<string, (value: string) => void>();
let writing = 0;

function query(hash: string): string {
  const at = hash.indexOf("?");
  return at < 0 ? "" : hash.slice(at + 1);
}

function place(hash: string): string {
  return hash.split("?")[0]!.slice(1);
}

/** The state of a view that the address holds; "" for none. */
export function stateOf(key: string): string {
  return held.get(key) ?? "";
}

/** Puts the state of a view into the address; "" takes it out. Addresses are written seldom, since browsers refuse many. */
export function keepState(key: string, value: string): void {
  if ((held.get(key) ?? "") === value) return;
  if (value) held.set(key, value);
  else held.delete(key);
  clearTimeout(writing);
  writing = window.setTimeout(writeHash, 250);
}

/** The address of what is shown now, with the state of every view. */
export function addressNow(): string {
  clearTimeout(writing);
  writeHash();
  return location.href;
}

function writeHash(): void {
  const text = held.toString();
  const hash = `#${place(location.hash)}${text ? `?${text}` : ""}`;
  if (hash !== location.hash && (hash !== "#" || location.hash)) history.replaceState(history.state, "", hash);
}

/** Tells a view of a link that was followed and names its state. */
export function useLinked(key: string, apply: (value: string) => void): void {
  listeners.set(key, apply);
  useEffect(() => () => void listeners.delete(key), [key]);
}

/** A text that the address holds, such as a filter. */
export function useKept(key: string): [value: string, set: (value: string) => void] {
  const [value, setValue] = useState(() => stateOf(key));
  useLinked(key, setValue);
  const set = (next: string) => {
    setValue(next);
    keepState(key, next);
  };
  return [value, set];
}

/** The address of a place with the state of one view. */
export function linkTo(section: string, key: string, value: string): string {
  return `#${section}?${new URLSearchParams([[key, value]])}`;
}

export function kernelHref(id: string): string {
  return `#/kernel/${encodeURIComponent(id)}`;
}

export function openKernel(id: string): void {
  location.hash = kernelHref(id);
}

function parse(): Route {
  const m = place(location.hash).match(/^\/kernel\/(.+)$/);
  if (!m) return { page: "overview", section: place(location.hash) };
  try {
    return { page: "kernel", id: decodeURIComponent(m[1]!) };
  } catch {
    return { page: "kernel", id: m[1]! };
  }
}

/** A link that names a state sets it; one that does not leaves the views as they are. */
function followed(): void {
  const named = new URLSearchParams(query(location.hash));
  for (const [key, value] of named) {
    held.set(key, value);
    listeners.get(key)?.(value);
  }
  writeHash();
}

export function useRoute(): Route {
  const [route, setRoute] = useState(parse);
  useEffect(() => {
    const changed = () => {
      followed();
      setRoute(parse());
    };
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
