// Numbers that depend on what the reader chose: a part of the timeline, the ticks
// of an axis, rows that a filter leaves. Every other number comes with its text
// from Go (KEY_text beside KEY), so that the page and the reports agree.

import { say } from "./words";

const gap = "\u00a0"; // a number and its unit stay on one line
const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** Three significant digits without an exponent. */
export function digits(value: number, significant = 3): string {
  if (!Number.isFinite(value)) return say("absent");
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  if (magnitude >= significant - 1) return grouped.format(value);
  return value.toFixed(Math.min(significant - 1 - magnitude, 6));
}

export function count(value: number): string {
  return grouped.format(value);
}

const timeSteps: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

export function time(ns: number): string {
  if (ns === 0) return `0${gap}ns`;
  for (const [size, unit] of timeSteps) {
    if (Math.abs(ns) >= size * 0.9995) return `${digits(ns / size)}${gap}${unit}`;
  }
  return `${digits(ns)}${gap}ns`;
}

/** A place on a time axis up to most, with the digits that tell it from one a step away. */
export function instant(ns: number, step: number, most: number): string {
  if (ns === 0) return "0";
  let i = Math.max(0, timeSteps.findIndex(([size]) => step >= size));
  if (step < 1) i = timeSteps.length - 1;
  // Far from zero a coarser unit with decimals stays shorter.
  while (i > 0 && most / timeSteps[i]![0] >= 1e5) i--;
  const [size, unit] = timeSteps[i]!;
  const decimals = Math.min(9, Math.max(0, Math.ceil(Math.log10(size / step))));
  return `${(ns / size).toLocaleString("en", { maximumFractionDigits: decimals })}${gap}${unit}`;
}

/** A share of 1 in percent. */
export function percent(share: number): string {
  return `${percentage(share * 100)}${gap}%`;
}

/** As in the Markdown reports: one decimal, two significant digits below 1, and what is not 0 does not read as 0. */
function percentage(value: number): string {
  const size = Math.abs(value);
  if (value > 0 && value < 0.001) return "<0.001";
  if (size < 0.001) return "0.0";
  return value.toFixed(size < 0.00995 ? 4 : size < 0.0995 ? 3 : size < 0.995 ? 2 : 1);
}

const prefixes: [number, string][] = [
  [1e18, "E"],
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** A value with a decimal prefix before its unit. */
export function prefixed(value: number, unit: string): string {
  for (const [size, prefix] of prefixes) {
    if (Math.abs(value) >= size * 0.9995) return `${digits(value / size)}${gap}${prefix}${unit}`;
  }
  return unit ? `${digits(value)}${gap}${unit}` : digits(value);
}

export function dims(d: number[]): string {
  return d.join(" × ");
}

export function date(text: string): string {
  const d = new Date(text);
  return Number.isNaN(d.getTime()) ? text : d.toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC");
}

/** Text that stands on its own begins with a capital, unless it begins with a name. */
export function sentence(text: string): string {
  return /^[a-z]+[ ,]/.test(text) ? text[0]!.toUpperCase() + text.slice(1) : text;
}

/** A text in which a number and its unit stay on one line. */
export function joined(text: string): string {
  return text.replace(/(?<=\d) (?=(?:%|[nµm]?s|[kMGTPE]?(?:B|FLOP|Hz))(?![\w]))/g, gap);
}

/** A text with the full stop that ends it. */
export function stop(text: string): string {
  return text.endsWith(".") ? text : `${text}.`;
}
