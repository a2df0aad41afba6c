import type { ComponentChildren } from "preact";
import { count } from "./format";
import { list } from "./list";
import { useModel } from "./model";
import { DataTable, type Column } from "./table";
import { say } from "./words";

/** A column as deepprof declares it for all its outputs; the title has the unit of the cells. */
export interface ViewColumn {
  key: string;
  title: string;
  help?: string;
  unit?: string; // of the value; empty for a text
  format?: string;
  align: "left" | "right";
  priority?: number; // the highest gives way first where space is short; 0 stays
}

/** A cell: its text, what it is sorted by where that is not the text, and what to know of it. */
export interface Cell {
  t: string;
  s?: number;
  n?: string;
  absent?: boolean; // not measured, which the text says
  kernel?: string; // ID of the one that it names
}

/** A table as deepprof declares and fills it. */
export interface Table {
  columns: ViewColumn[] | null;
  rows: Cell[][] | null;
  legend?: string;
  notes?: string[]; // sentences about the table as a whole
}

/** A row of a table, and its place among the things that the table lists. */
export interface Line {
  at: number;
  cells: Cell[];
}

/** What the page adds to a declared column: how wide it is, and how a cell is drawn that is more than its text. */
export interface Drawn {
  width?: number;
  wrap?: boolean;
  cell?: (at: number, text: string) => ComponentChildren;
}

export function linesOf(table: Table | undefined): Line[] {
  return list(table?.rows).map((cells, at) => ({ at, cells }));
}

/** The columns of a table, in the order in which they are declared. */
export function columnsOf(table: Table | undefined, drawn: Record<string, Drawn> = {}): Column<Line>[] {
  return list(table?.columns).map((c, i) => {
    const d = drawn[c.key] ?? {};
    const num = c.align === "right";
    return {
      id: c.key,
      head: c.title,
      title: c.help,
      num,
      priority: c.priority ?? 0,
      width: d.width,
      room: num ? widthOf(c.title, list(table?.rows), i) : undefined,
      wrap: d.wrap ?? (!num && (d.width !== undefined || list(table?.rows).some((r) => r[i]!.t.length > shortText))),
      cell: (line) => <CellText cell={line.cells[i]!} draw={d.cell && ((text) => d.cell!(line.at, text))} mono={c.format === "name"} />,
      key: (line) => (num ? (line.cells[i]!.s ?? (line.cells[i]!.t ? 0 : NaN)) : line.cells[i]!.t || "~"),
    };
  });
}

const shortText = 28; // characters that stay on one line

/** The width in rem in which a column of numbers, its heading in lines of a word and the arrow of its order have room. */
function widthOf(title: string, rows: Cell[][], i: number): number {
  const longest = Math.max(...title.split(" ").map((w) => w.length), ...rows.slice(0, 50).map((r) => r[i]!.t.length + 1));
  return longest * 0.54 + 2;
}

/** The text of a cell; what to know of it shows where the pointer rests. */
export function CellText(p: { cell: Cell; draw?: (text: string) => ComponentChildren; mono?: boolean }) {
  const drawn = p.draw ? p.draw(p.cell.t) : p.cell.absent ? <span class="quiet">{p.cell.t}</span> : p.cell.t;
  if (!p.cell.n && !p.mono) return <>{drawn}</>;
  return (
    <span class={p.mono && !p.draw ? "mono few-lines" : undefined} title={p.cell.n ?? p.cell.t}>
      {drawn}
    </span>
  );
}

/** A table of the report as it stands, with its notes below. */
export function ReportTable(p: { name: string; caption: string; id?: string; drawn?: Record<string, Drawn>; minWidth?: number }) {
  const { result } = useModel();
  const table = result.tables[p.name];
  const lines = linesOf(table);
  if (lines.length === 0) return null;
  return (
    <>
      <DataTable id={p.id ?? `${p.name}-table`} caption={p.caption} rows={lines} columns={columnsOf(table, p.drawn)} rowKey={(l) => l.at} minWidth={p.minWidth} />
      <TableNotes table={table!} />
    </>
  );
}

/** A declared table of a few rows of the result. A cell is the text that comes with its value, unless it is drawn; without leaves columns out. */
export function SmallTable<T extends object>(p: { view: string; rows: T[]; caption: ComponentChildren; seen?: boolean; id?: string; class?: string; without?: string[]; draw?: Record<string, (row: T) => ComponentChildren> }) {
  const { result } = useModel();
  if (p.rows.length === 0) return null;
  const columns = list(result.views[p.view]).filter((c) => !p.without?.includes(c.key));
  const cell = (row: T, key: string): ComponentChildren => {
    const values = row as Record<string, unknown>;
    const value = values[`${key}_text`] ?? values[key];
    return p.draw?.[key] ? p.draw[key](row) : typeof value === "number" ? count(value) : (value as ComponentChildren);
  };
  const alignment = (c: ViewColumn) => (c.align === "right" ? "num" : undefined);
  return (
    <table class={p.class ? `data small ${p.class}` : "data small"} id={p.id}>
      <caption class={p.seen ? undefined : "unseen"}>{p.caption}</caption>
      <thead>
        <tr>
          {columns.map((c) => (
            <th key={c.key} scope="col" class={alignment(c)} title={c.help}>
              {c.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {p.rows.map((row, i) => (
          <tr key={i}>
            {columns.map((c, n) =>
              n === 0 ? (
                <th key={c.key} scope="row" class="name">
                  {cell(row, c.key)}
                </th>
              ) : (
                <td key={c.key} class={alignment(c)}>
                  {cell(row, c.key)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What is to be known of cells, each once, with the first column of the rows that it is about. */
function TableNotes(p: { table: Table }) {
  const notes = new Map<string, Set<string>>();
  const columns = list(p.table.columns);
  for (const row of list(p.table.rows)) {
    row.forEach((cell, i) => {
      if (cell.n) notes.set(cell.n, (notes.get(cell.n) ?? new Set()).add(`${row[0]!.t}, ${columns[i]!.title}`));
    });
  }
  if (notes.size === 0) return null;
  return (
    <ul class="notes quiet">
      {[...notes].map(([note, of]) => (
        <li key={note}>
          {of.size > 4 ? say("and-more", { names: [...of].slice(0, 4).join("; "), n: of.size - 4 }) : [...of].join("; ")}: {note}
        </li>
      ))}
    </ul>
  );
}
