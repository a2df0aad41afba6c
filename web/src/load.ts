import type { Carried } from "./model";

/** Reads the result that the page carries: plain JSON, or compressed and in base64. */
export async function load(): Promise<Carried> {
  const holder = document.getElementById("data");
  if (!holder?.textContent) throw new Error("this file carries no result");
  const text = holder.textContent;
  const encoding = holder.dataset["encoding"];
  holder.remove();
  if (encoding === "json") return JSON.parse(text) as Carried;
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser cannot decompress the result; open the file in a browser of 2023 or later");
  }
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(stream).json()) as Carried;
}
