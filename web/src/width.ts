import { useLayoutEffect, useState } from "preact/hooks";
import { fit, widthOf } from "./canvastext";
import { usePrinting } from "./printing";

/** The width that an element has, in pixels. */
export function useWidth(of: { current: HTMLElement | null }, before: number): number {
  const [width, setWidth] = useState(before);
  useLayoutEffect(() => {
    const e = of.current;
    if (!e) return;
    const measure = () => e.clientWidth > 0 && setWidth(e.clientWidth);
    const observer = new ResizeObserver(measure);
    observer.observe(e);
    measure();
    return () => observer.disconnect();
  }, [of.current]);
  return width;
}

const pen = document.createElement("canvas").getContext("2d");
const padding = 7; // of a box, with its border
const paper = 640; // pixels that a page of A4 has at least

/** The width of a text on the page, in pixels. */
export function textWidth(text: string, px: number): number {
  if (!pen) return (text.length * px) / 2;
  pen.font = `${px}px ${getComputedStyle(document.body).fontFamily}`;
  return widthOf(pen, text);
}

/** Labels of boxes that are shares of the width of an element: whole, shortened so that they still tell something, or none. */
export function useLabels(of: { current: HTMLElement | null }): (text: string, share: number) => string {
  const seen = useWidth(of, 0);
  const width = usePrinting() ? Math.min(seen, paper) : seen;
  return (text, share) => {
    if (!pen || !of.current || width === 0) return "";
    pen.font = `12.5px ${getComputedStyle(of.current).fontFamily}`;
    return fit(pen, text, share * width - padding);
  };
}
