import type { ComponentChildren } from "preact";
import { metric } from "./format";
import type { Column } from "./table";

/** A column as deepprof declares it for all its outputs. */
export interface ViewColumn {
  key: string;
  title: string;
  help?: string;
  unit?: string; // of the value; empty for a text
  format?: string;
  align: "left" | "right";
  priority?: number;
  detail?: boolean;
}

/** A table as deepprof declares it. */
export interface View {
  name: string;
  sorted_by?: string;
  descending?: boolean;
  legend?: string;
  columns: ViewColumn[];
}

/** What the page adds to a declared column: how wide it is, and how a cell is drawn that is more than its value. */
export interface Drawn<T> {
  value: (row: T) => number | string | undefined;
  width?: number;
  wrap?: boolean;
  cell?: (row: T) => ComponentChildren;
  /** False for a column that cannot be sorted. */
  sorts?: boolean;
}

/** The columns of a view that a table draws, in the order of drawn. */
export function columnsOf<T>(view: View | undefined, drawn: Record<string, Drawn<T>>): Column<T>[] {
  return Object.entries(drawn).map(([key, d]) => {
    const c = view?.columns.find((c) => c.key === key) ?? { key, title: key.replaceAll("_", " "), align: "left" };
    const num = c.align === "right";
    return {
      id: key,
      head: heading(c.title),
      title: c.help,
      num,
      width: d.width,
      wrap: d.wrap,
      cell: d.cell ?? ((row) => written(d.value(row), c.unit)),
      key: d.sorts === false ? undefined : (row) => d.value(row) ?? (num ? NaN : "~"),
    };
  });
}

/** A title as the head of a column; a column in percent says so in its cells. */
function heading(title: string): string {
  const text = title.replace(/ %$/, "");
  return text[0]!.toUpperCase() + text.slice(1);
}

function written(value: number | string | undefined, unit: string | undefined): ComponentChildren {
  if (value === undefined) return <span class="quiet">n/a</span>;
  return typeof value === "string" ? value : metric(value, unit);
}
