"use strict";
// The timeline of a run in tiles: every zoom or move asks the server for what fits
// the screen, so that its size does not matter.
const laneHeight = 18, axisHeight = 20, labelWidth = 190;

// readableTime writes nanoseconds for an axis whose steps are that long.
function readableTime(ns, step) {
  const [unit, name] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([u]) => step >= u) || [1, "ns"];
  return (ns / unit).toLocaleString("en", { maximumFractionDigits: Math.max(0, Math.ceil(Math.log10(unit / step)) + 2) }) + " " + name;
}

// axisStep is a round length of which at most n fit.
function axisStep(span, n) {
  const raw = Math.max(1, span / n), power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
}

// hue gives a name its color, the same in every tile.
function hue(name) {
  let h = 0;
  for (const c of name) h = (h * 31 + c.codePointAt(0)) >>> 0;
  return h % 360;
}

async function timeline(run, id, query, body) {
  const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": word("timeline-label") });
  const about = el("p", { id: "tile", class: "note", "aria-live": "polite" });
  const under = el("p", { id: "box" }, word("timeline-help"));
  const parts = el("select", { id: "part", onchange: () => { location.hash = link(["run", id, "timeline"], [["part", parts.value]]); } });
  const picker = el("p", {}, field("part", word("timeline"), parts));
  body.replaceChildren(picker, canvas, under, about);
  let tile = null, from = Number(query.get("start_ns") || 0), to = Number(query.get("end_ns") || 0);
  const width = () => Math.max(200, canvas.clientWidth);
  const x = (ns) => labelWidth + (ns - from) / (to - from) * (width() - labelWidth);
  const time = (px) => from + (px - labelWidth) / (width() - labelWidth) * (to - from);

  function draw() {
    const scale = devicePixelRatio || 1, height = axisHeight + laneHeight * tile.lanes.length;
    canvas.width = width() * scale; canvas.height = height * scale;
    canvas.style.height = height + "px";
    const c = canvas.getContext("2d"), ink = getComputedStyle(canvas).color;
    c.scale(scale, scale);
    c.font = "11px system-ui, sans-serif"; c.textBaseline = "middle";
    const step = axisStep(to - from, (width() - labelWidth) / 90);
    c.fillStyle = ink; c.strokeStyle = "#8885";
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      c.beginPath(); c.moveTo(x(t), 0); c.lineTo(x(t), height); c.stroke();
      c.fillText(readableTime(t, step), x(t) + 3, axisHeight / 2);
    }
    tile.lanes.forEach((lane, i) => {
      const y = axisHeight + i * laneHeight;
      c.fillStyle = ink;
      c.fillText(lane.kind + " " + lane.label, 2, y + laneHeight / 2, labelWidth - 8);
      for (const b of lane.boxes) {
        const left = Math.max(labelWidth, x(b.s)), w = Math.max(1, Math.min(width(), x(b.s + b.d)) - left), name = tile.names[b.n];
        c.fillStyle = "hsl(" + hue(name) + " 55% 75%)";
        c.fillRect(left, y, w, laneHeight - 2);
        if (w < 60 || b.c > 1) continue;
        c.fillStyle = "#000";
        c.save(); c.beginPath(); c.rect(left, y, w - 2, laneHeight); c.clip(); c.fillText(name, left + 3, y + laneHeight / 2); c.restore();
      }
    });
  }

  let asked = 0;
  async function fetchTile() {
    const mine = ++asked, q = new URLSearchParams([["width", String(Math.min(2000, width()))]]);
    if (query.get("part")) q.set("part", query.get("part"));
    if (to > from) { q.set("start_ns", String(Math.floor(from))); q.set("end_ns", String(Math.ceil(to))); }
    const got = await call(run + "/timeline?" + q);
    if (mine !== asked) return; // a later one is under way
    tile = got;
    [from, to] = [tile.start_ns, tile.end_ns];
    parts.replaceChildren(...tile.parts.map((p) => el("option", { selected: p === tile.part }, p)));
    picker.hidden = tile.parts.length < 2;
    draw();
    about.textContent = word("tile-shows", { from: readableTime(from, to - from), to: readableTime(to, to - from), of: readableTime(tile.length_ns, tile.length_ns),
      nvtx: 0, kernel: 0, copy: 0, ...tile.events });
    const whole = from === 0 && to === tile.length_ns;
    history.replaceState(null, "", link(["run", id, "timeline"], [["part", query.get("part") || ""], ["start_ns", whole ? "" : String(from)], ["end_ns", whole ? "" : String(to)]]));
  }
  function move(start, end) {
    const span = Math.min(tile.length_ns, Math.max(100, end - start));
    from = Math.max(0, Math.min(start, tile.length_ns - span));
    to = from + span;
    draw(); // what is there already, until the tile comes
    return guarded(fetchTile);
  }
  const zoom = (at, factor) => move(at - (at - from) * factor, at + (to - at) * factor);
  const boxAt = (e) => {
    const lane = tile.lanes[Math.floor((e.offsetY - axisHeight) / laneHeight)], t = time(e.offsetX), slack = (to - from) / width() * 2;
    const box = lane && lane.boxes.find((b) => b.s - slack <= t && t <= b.s + b.d + slack);
    if (!box) return "";
    const values = { name: tile.names[box.n], time: readableTime(box.d, box.d), n: box.c, busy: readableTime(box.b, box.b), at: readableTime(box.s, to - from) };
    return word(box.c === 1 ? "box-of-one" : "box-of-several", values);
  };
  let dragged = null;
  canvas.addEventListener("pointerdown", (e) => { dragged = { at: e.offsetX, from, to }; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointerup", () => { dragged = null; });
  canvas.addEventListener("pointermove", (e) => {
    if (!tile) return;
    if (dragged) {
      const by = (dragged.at - e.offsetX) / (width() - labelWidth) * (dragged.to - dragged.from);
      move(dragged.from + by, dragged.to + by);
    } else under.textContent = boxAt(e) || "\u00a0";
  });
  canvas.addEventListener("wheel", (e) => { if (!tile) return; e.preventDefault(); zoom(time(e.offsetX), e.deltaY > 0 ? 1.4 : 1 / 1.4); }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    if (!tile || e.ctrlKey || e.metaKey || e.altKey) return;
    const span = to - from, middle = (from + to) / 2;
    const keys = { w: () => zoom(middle, 0.5), "+": () => zoom(middle, 0.5), s: () => zoom(middle, 2), "-": () => zoom(middle, 2), 0: () => move(0, tile.length_ns),
      a: () => move(from - span / 4, to - span / 4), ArrowLeft: () => move(from - span / 4, to - span / 4), d: () => move(from + span / 4, to + span / 4), ArrowRight: () => move(from + span / 4, to + span / 4) };
    if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });
  await fetchTile();
}
