import { useEffect, useState } from "preact/hooks";

export type Route = { page: "overview"; section: string } | { page: "kernel"; id: string };

export function kernelHref(id: string): string {
  return `#/kernel/${encodeURIComponent(id)}`;
}

export function openKernel(id: string): void {
  location.hash = kernelHref(id);
}

function parse(): Route {
  const m = location.hash.match(/^#\/kernel\/(.+)$/);
  if (!m) return { page: "overview", section: location.hash.slice(1) };
  try {
    return { page: "kernel", id: decodeURIComponent(m[1]!) };
  } catch {
    return { page: "kernel", id: m[1]! };
  }
}

export function useRoute(): Route {
  const [route, setRoute] = useState(parse);
  useEffect(() => {
    const changed = () => setRoute(parse());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
