import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { announce } from "./announce";
import { useFitting } from "./fitting";
import { usePrinting } from "./printing";
import { useKept } from "./route";
import { say } from "./words";

export interface Column<T> {
  id: string;
  head: string;
  title?: string;
  num?: boolean;
  /** Width in rem; the columns without one share the rest. */
  width?: number;
  /** The width in rem that it needs in a table whose columns have widths; elsewhere the browser finds one. */
  room?: number;
  /** Long texts take several lines, unless the table has too many rows for that. */
  wrap?: boolean;
  cell: (row: T) => ComponentChildren;
  /** The column with the highest gives way first where the table is too wide; 0 or none stays. */
  priority?: number;
  /** What to sort by; a column without it cannot be sorted. */
  key?: (row: T) => number | string;
}

interface Props<T> {
  id: string;
  caption: string;
  rows: T[];
  columns: Column<T>[];
  rowKey: (row: T) => string | number;
  sort?: string;
  ascending?: boolean;
  open?: (row: T) => void;
  minWidth?: number;
  empty?: string;
  /** Height of a row in pixels, where it is not of one line. */
  rowHeight?: number;
}

const plainRows = 60; // more rows than that scroll in a box and are drawn as they come into view
const wrappedRows = 400; // as many are drawn at once where rows differ in height
const paperRows = 50;

/** A table that sorts, and draws only the rows in view where there are many. */
export function DataTable<T>(p: Props<T>) {
  const [kept, keep] = useKept(`sort-${p.id}`);
  const sort = useMemo(() => (kept ? { id: kept.replace(/^-/, ""), up: !kept.startsWith("-") } : { id: p.sort ?? "", up: p.ascending ?? false }), [kept]);
  const printing = usePrinting();
  const rows = useMemo(() => sorted(p.rows, p.columns.find((c) => c.id === sort.id), sort.up), [p.rows, p.columns, sort]);
  const tall = rows.length > plainRows && !printing;
  const virtual = tall && (rows.length > wrappedRows || !p.columns.some((c) => c.wrap));
  const scroller = useRef<HTMLDivElement>(null);
  const { columns, note } = useFitting(scroller, p.columns);
  const [top, setTop] = useState(0);
  const [active, setActive] = useState(0);
  const focusNext = useRef(-1);

  const fixed = virtual || p.columns.some((c) => c.width);
  const rowHeight = p.rowHeight ?? 34;
  const viewRows = Math.ceil(580 / rowHeight);
  const first = virtual ? Math.max(0, Math.min(Math.floor(top / rowHeight), rows.length - viewRows) - 8) : 0;
  const last = virtual ? Math.min(rows.length, first + viewRows + 16) : printing ? Math.min(rows.length, paperRows) : rows.length;
  const current = Math.min(active, Math.max(rows.length - 1, 0));

  useEffect(() => {
    if (scroller.current) scroller.current.scrollTop = 0;
    setTop(0);
    setActive(0);
  }, [p.rows, sort]);

  useEffect(() => {
    if (focusNext.current < 0) return;
    const row = scroller.current?.querySelector<HTMLElement>(`tr[data-row="${focusNext.current}"]`);
    if (!row) return; // it is drawn next time
    focusNext.current = -1;
    row.focus({ preventScroll: true });
  });

  function sortBy(c: Column<T>) {
    const up = sort.id === c.id ? !sort.up : !c.num;
    keep(up ? c.id : `-${c.id}`);
    announce(say(up ? "sorted-up" : "sorted-down", { table: p.caption, by: c.title ?? c.head }));
  }

  function move(to: number) {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    focusNext.current = next;
    setActive(next);
    const box = scroller.current;
    if (!box || !virtual) return;
    const y = next * rowHeight;
    const head = 34;
    if (y < box.scrollTop) box.scrollTop = y;
    else if (y + rowHeight + head > box.scrollTop + box.clientHeight) box.scrollTop = y + rowHeight + head - box.clientHeight;
    setTop(box.scrollTop);
  }

  function onKey(e: TargetedKeyboardEvent<HTMLElement>) {
    const row = (e.target as HTMLElement).closest<HTMLElement>("tr[data-row]");
    if (!row || (e.target as HTMLElement).matches("input, select, button")) return;
    const at = Number(row.dataset["row"]);
    const steps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + viewRows,
      PageUp: at - viewRows,
      Home: 0,
      End: rows.length - 1,
    };
    const to = steps[e.key];
    if (to !== undefined) {
      e.preventDefault();
      move(to);
    } else if ((e.key === "Enter" || e.key === " ") && p.open && e.target === row) {
      e.preventDefault();
      p.open(rows[at]!);
    }
  }

  if (rows.length === 0) return <p class="quiet">{p.empty ?? say("table-empty")}</p>;
  return (
    <>
      <div
        ref={scroller}
        id={p.id}
        class={tall ? "scroll tall" : "scroll"}
        role="region"
        aria-label={say("table-label", { table: p.caption, n: rows.length })}
        tabIndex={0}
        onScroll={virtual ? (e) => setTop(e.currentTarget.scrollTop) : undefined}
        onKeyDown={onKey}
      >
        <table
          class={fixed ? "data fixed" : "data"}
          style={{ minWidth: p.minWidth ? `${p.minWidth}rem` : undefined, "--row": `${rowHeight}px` }}
          aria-rowcount={rows.length + 1}
        >
          <caption class="unseen">{p.caption}</caption>
          <colgroup>
            {columns.map((c) => (
              <col key={c.id} style={{ width: fixed && (c.width ?? c.room) ? `${c.width ?? c.room}rem` : undefined }} />
            ))}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map((c) => (
                <th key={c.id} scope="col" class={c.num ? "num" : undefined} aria-sort={sort.id === c.id ? (sort.up ? "ascending" : "descending") : undefined} title={c.title}>
                  {c.key && !printing ? (
                    <button type="button" data-sort={c.id} onClick={() => sortBy(c)}>
                      {c.head}
                      <span class="arrow" aria-hidden="true">
                        {sort.id === c.id ? (sort.up ? "▲" : "▼") : ""}
                      </span>
                    </button>
                  ) : (
                    c.head
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first > 0 && <tr aria-hidden="true" style={{ height: `${first * rowHeight}px` }} />}
            {rows.slice(first, last).map((row, i) => {
              const at = first + i;
              return (
                <tr
                  key={p.rowKey(row)}
                  data-row={at}
                  aria-rowindex={at + 2}
                  tabIndex={p.open || virtual ? (at === current ? 0 : -1) : undefined}
                  class={p.open ? "opens" : undefined}
                  onFocus={() => setActive(at)}
                  onClick={p.open && ((e) => !(e.target as HTMLElement).closest("a, button") && !getSelection()?.toString() && p.open!(row))}
                >
                  {columns.map((c, n) =>
                    n === 0 ? (
                      <th key={c.id} scope="row" class={c.num ? "num" : c.wrap && !virtual ? "wrap" : undefined}>
                        {c.cell(row)}
                      </th>
                    ) : (
                      <td key={c.id} class={c.num ? "num" : c.wrap && !virtual ? "wrap" : undefined}>
                        {c.cell(row)}
                      </td>
                    ),
                  )}
                </tr>
              );
            })}
            {last < rows.length && !printing && <tr aria-hidden="true" style={{ height: `${(rows.length - last) * rowHeight}px` }} />}
          </tbody>
        </table>
      </div>
      {note}
      {printing && last < rows.length && (
        <p class="quiet">
          {say("table-first", { n: last, of: rows.length })}
        </p>
      )}
    </>
  );
}

function sorted<T>(rows: T[], column: Column<T> | undefined, up: boolean): T[] {
  const key = column?.key;
  if (!key) return rows;
  const keyed = rows.map((row, i) => ({ row, i, k: key(row) }));
  const sign = up ? 1 : -1;
  keyed.sort((a, b) => {
    if (typeof a.k === "string" || typeof b.k === "string") return sign * String(a.k).localeCompare(String(b.k), "en") || a.i - b.i;
    const an = Number.isNaN(a.k);
    const bn = Number.isNaN(b.k);
    if (an || bn) return an && bn ? a.i - b.i : an ? 1 : -1; // what is missing comes last
    return sign * (a.k - b.k) || a.i - b.i;
  });
  return keyed.map((e) => e.row);
}
