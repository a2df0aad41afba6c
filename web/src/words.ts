// The words of the page come with its data from deepprof (internal/message); the
// page only puts values into their places, because some are of what a reader chose.
import type { ComponentChildren } from "preact";
import { count } from "./format";

type Values = Record<string, ComponentChildren>;

let words: Record<string, string> = {};

/** Takes the words that the file carries. */
export function takeWords(given: Record<string, string> | undefined): void {
  words = given ?? {};
}

/** A text with its values, of which numbers are counts; a part in brackets is left out where a value in it is absent. */
export function say(id: string, values: Values = {}): string {
  return draw(id, values).join("");
}

/** The same where values are drawn, such as links. */
export function draw(id: string, values: Values = {}): ComponentChildren[] {
  const has = (name: string) => ![undefined, null, false, ""].includes(values[name] as null);
  const text = (words[id] ?? id).replace(/\[([^\]]*)\]/g, (_, part: string) => ([...part.matchAll(/\{(\w+)/g)].every((m) => has(m[1]!)) ? part : ""));
  return text.split(/(\{[^}]*\})/).map((part) => {
    const m = part.match(/^\{(\w+)(?::([^|]*)\|(.*))?\}$/);
    if (!m) return part;
    const value = values[m[1]!];
    const shown = typeof value === "number" ? count(value) : value;
    return m[2] === undefined ? shown : `${shown} ${value === 1 ? m[2] : m[3]}`;
  });
}
