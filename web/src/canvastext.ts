/** How wide the characters of a font are, measured once each: a frame measures no text. */
const fonts = new Map<string, Map<string, number>>();
const ellipsis = "…";

function widthsOf(g: CanvasRenderingContext2D): (char: string) => number {
  let known = fonts.get(g.font);
  if (!known) fonts.set(g.font, (known = new Map()));
  const widths = known;
  return (char) => {
    let width = widths.get(char);
    if (width === undefined) widths.set(char, (width = g.measureText(char).width));
    return width;
  };
}

/** The width of a text, but for kerning. */
export function widthOf(g: CanvasRenderingContext2D, text: string): number {
  const width = widthsOf(g);
  let sum = 0;
  for (const char of text) sum += width(char);
  return sum;
}

/** As much of a text as there is room for; "" where that would tell nothing. */
export function fit(g: CanvasRenderingContext2D, text: string, room: number): string {
  if (room < 12) return "";
  const width = widthsOf(g);
  const cut = room - width(ellipsis);
  let [sum, shown, chars] = [0, 0, 0];
  for (const char of text) {
    sum += width(char);
    if (sum <= cut) {
      shown += char.length;
      chars++;
    }
    if (sum > room) return chars > 4 ? text.slice(0, shown) + ellipsis : "";
  }
  return text;
}
