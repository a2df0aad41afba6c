import type { Levels } from "./levels";
import type { Lane } from "./result";
import { axisHeight, type CounterRow } from "./timelineparts";

export interface Hit {
  lane: number;
  box: number;
  /** How many boxes from that one on are drawn as one, because they are too narrow; 1 unless said. */
  of?: number;
}

/** The lane of a rank; folded ones are shown when asked for. */
export interface Rank {
  key: string; // that links name it by
  lane: Lane;
  folded: boolean;
}

export interface Row {
  key: string; // that links name it by
  title?: string; // of the group that begins with it
  lane: Lane;
  levels: Levels;
  drawn: Drawn[];
  y: number;
  height: number;
}

/** What was drawn last: boxes from one on, where. */
export interface Drawn {
  box: number;
  of: number;
  x: number;
  end: number;
}

export interface Group {
  label: string;
  y: number;
}

export const groupHeight = 20;
const laneHeights: Record<string, number> = { step: 18, layer: 18, nvtx: 20, kernel: 26, copy: 16, api: 14, counter: 30 };
const between = 3; // pixels from a lane to the next
const below = 6;
const mostGrowth = 3; // as many times as high a lane gets at most where there is room

/** Lays rows out from top to bottom and tells how high they are. They grow where there is room for that. */
export function layOut(items: (Row | CounterRow)[], room: number): { groups: Group[]; height: number } {
  const natural = items.map((item) => laneHeights["values" in item ? "counter" : item.lane.kind] ?? 18);
  const titles = items.filter((item) => item.title !== undefined).length;
  const rest = axisHeight + titles * groupHeight + items.length * between + below;
  const growth = Math.min(mostGrowth, Math.max(1, (room - rest) / natural.reduce((sum, h) => sum + h, 1)));
  const groups: Group[] = [];
  let y = axisHeight;
  items.forEach((item, i) => {
    if (item.title !== undefined) {
      groups.push({ label: item.title, y });
      y += groupHeight;
    }
    item.y = y;
    item.height = Math.floor(natural[i]! * growth);
    y += item.height + between;
  });
  return { groups, height: y + below };
}

/** The place of the box of a lane of layers that an event is a part of; -1 where there is none. */
export function layerAt(layers: Levels, start: number, end: number): number {
  const { boxes } = layers;
  const at = layers.endingFrom(end);
  return at < boxes.length && boxes.start[at]! <= start && boxes.count[at]! <= 1 ? at : -1;
}
