import { useLayoutEffect, useState } from "preact/hooks";
import { usePrinting } from "./printing";
import { say } from "./words";

/** A column that may give way: the highest priority first, 0 stays. */
interface Yielding {
  id: string;
  head: string;
  priority?: number;
}

/**
 * The columns of a table that its frame has room for. Those that gave way are named
 * below it, with a button for all of them: then the table scrolls.
 */
export function useFitting<C extends Yielding>(frame: { current: HTMLElement | null }, columns: C[]): { columns: C[]; note: preact.ComponentChildren } {
  const printing = usePrinting();
  const [all, setAll] = useState(false);
  const [gone, setGone] = useState(0);
  const [width, setWidth] = useState(0); // of the frame, while it is seen
  const order = columns.filter((c) => c.priority).sort((x, y) => y.priority! - x.priority!);
  useLayoutEffect(() => {
    const e = frame.current;
    if (!e || all || printing) return;
    if (e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1 && gone < order.length) setGone(gone + 1);
    const observer = new ResizeObserver(() => {
      if (e.clientWidth === 0 || e.clientWidth === width) return;
      setWidth(e.clientWidth);
      if (width > 0) setGone(0); // and as many as that width asks for
    });
    observer.observe(e);
    return () => observer.disconnect();
  }, [columns, all, printing, gone, width]);
  if (all || printing || gone === 0) return { columns, note: null };
  const left = order.slice(0, gone);
  return {
    columns: columns.filter((c) => !left.includes(c)),
    note: (
      <p class="quiet narrow-note">
        {say("table-narrow", { columns: left.map((c) => c.head).join("; ") })}{" "}
        <button type="button" onClick={() => setAll(true)}>
          {say("table-all-columns")}
        </button>
      </p>
    ),
  };
}
