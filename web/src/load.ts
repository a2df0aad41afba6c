import type { Carried } from "./model";

/** What stands above the static part of the page; it carries the words for a page that cannot be shown. */
export const note = document.getElementById("static-note")!;

/** Reads the result that the page carries: plain JSON, or compressed and in base64. */
export async function load(): Promise<Carried> {
  const holder = document.getElementById("data");
  if (!holder?.textContent) throw new Error(note.dataset["empty"]);
  const text = holder.textContent;
  const encoding = holder.dataset["encoding"];
  holder.remove();
  if (encoding === "json") return JSON.parse(text) as Carried;
  if (typeof DecompressionStream === "undefined") {
    throw new Error(note.dataset["old"]);
  }
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(stream).json()) as Carried;
}
