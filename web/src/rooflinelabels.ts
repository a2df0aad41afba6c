import { textWidth } from "./width";

/** A text of the plot: its middle, and how it is turned. */
export interface Label {
  text: string;
  x: number;
  y: number; // of the base line
  angle: number; // in degrees
}

export interface Dot {
  x: number;
  y: number;
  r: number;
}

/** A line of the plot, in pixels. */
export interface Line {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

type Spot = { x: number; y: number };

export const fontSize = 11.5; // of .plot text in style.css
const apart = 12; // pixels between the middles of two lines of text

/** Spots along a label, which stand for the room that it takes. */
export function spotsOf(l: Label): Spot[] {
  const turn = (l.angle * Math.PI) / 180;
  const half = textWidth(l.text, fontSize) / 2;
  const out: Spot[] = [];
  const n = Math.ceil((2 * half) / 5);
  for (let at = -half, i = 0; i <= n; at += (2 * half) / n, i++) out.push({ x: l.x + at * Math.cos(turn) + 4 * Math.sin(turn), y: l.y + at * Math.sin(turn) - 4 * Math.cos(turn) });
  return out;
}

function spotsOfLine(l: Line): Spot[] {
  const n = Math.ceil(Math.hypot(l.x1 - l.x0, l.y1 - l.y0) / 5);
  return Array.from({ length: n + 1 }, (_, i) => ({ x: l.x0 + ((l.x1 - l.x0) * i) / Math.max(n, 1), y: l.y0 + ((l.y1 - l.y0) * i) / Math.max(n, 1) }));
}

function near(spots: Spot[], others: Spot[], distance: number): boolean {
  return spots.some((s) => others.some((o) => Math.hypot(s.x - o.x, s.y - o.y) < distance));
}

/** Whether the upright rectangles around two labels are apart: turned texts that only just pass each other are hard to tell. */
function clear(a: Label, b: Label): boolean {
  const [s, o] = [spotsOf(a), spotsOf(b)];
  const apartBy = (key: "x" | "y") => Math.max(Math.min(...s.map((p) => p[key])) - Math.max(...o.map((p) => p[key])), Math.min(...o.map((p) => p[key])) - Math.max(...s.map((p) => p[key])));
  return apartBy("x") > apart || apartBy("y") > apart;
}

function onDot(spots: Spot[], dots: Dot[]): boolean {
  return spots.some((s) => dots.some((d) => Math.hypot(s.x - d.x, s.y - d.y) < d.r + 7));
}

function within(spots: Spot[], box: Line): boolean {
  return spots.every((s) => s.x > box.x0 && s.x < box.x1 && s.y > box.y0 && s.y < box.y1);
}

const alongSlope = [0.5, 0.43, 0.57, 0.36, 0.64, 0.29, 0.71, 0.22, 0.78, 0.15, 0.85];

/** Names slopes along their lines where neither a dot nor another text is; the last resort is their middle. */
export function nameSlopes(slopes: (Line & { text: string })[], dots: Dot[], taken: Spot[], box: Line): Label[] {
  const out: Label[] = [];
  for (const s of slopes) {
    const angle = (Math.atan2(s.y1 - s.y0, s.x1 - s.x0) * 180) / Math.PI;
    const others = slopes.filter((o) => o !== s).flatMap(spotsOfLine);
    const candidates = alongSlope.flatMap((at) => [-7, 16].map((off) => ({ text: s.text, angle, x: s.x0 + (s.x1 - s.x0) * at, y: s.y0 + (s.y1 - s.y0) * at + off })));
    const free = candidates.filter((l) => !onDot(spotsOf(l), dots) && !near(spotsOf(l), taken, apart));
    const inside = free.filter((l) => within(spotsOf(l), { ...box, y0: Math.max(box.y0, s.y1) }));
    const offLines = (inside.length > 0 ? inside : free).filter((l) => !near(spotsOf(l), others, 6));
    const best = offLines.find((l) => out.every((o) => clear(l, o))) ?? offLines[0] ?? inside[0] ?? free[0] ?? candidates[0]!;
    out.push(best);
    taken.push(...spotsOf(best));
  }
  return out;
}

/** Names dots beside them; one for which there is no room has no name. */
export function nameDots(dots: (Dot & { text: string })[], lines: Line[], taken: Spot[], box: Line): (Label | null)[] {
  const drawn = lines.flatMap(spotsOfLine);
  return dots.map((d) => {
    const half = textWidth(d.text, fontSize) / 2;
    const candidates: Label[] = [];
    for (const far of [8, 18, 32]) {
      const [side, down] = [d.r + far + half, d.r + far + 8];
      for (const [x, y] of [[side, 4], [-side, 4], [0, down], [0, 4 - down], [side, down], [-side, down], [side, 4 - down], [-side, 4 - down]] as const) {
        candidates.push({ text: d.text, angle: 0, x: d.x + x, y: d.y + y });
      }
    }
    const free = candidates.filter((l) => {
      const spots = spotsOf(l);
      return within(spots, box) && !onDot(spots, dots) && !near(spots, taken, apart);
    });
    const best = free.find((l) => !near(spotsOf(l), drawn, 7)) ?? free[0] ?? null;
    if (best) taken.push(...spotsOf(best));
    return best;
  });
}
