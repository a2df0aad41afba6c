"use strict";
// The page of deepprof serve. It uses the REST API under /api/v1 and nothing else;
// texts are set as text, never as HTML.
const api = "/api/v1";
const main = document.getElementById("main");
const say = (text, bad) => { const s = document.getElementById("status"); s.textContent = text; s.className = bad ? "error" : ""; };

// el makes an element with attributes and children.
function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (value === true) e.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) e.setAttribute(key, value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

// call asks the API; a refusal is an error with the reason.
async function call(path, options) {
  const response = await fetch(api + path, { credentials: "same-origin", ...options });
  if (response.status === 401) { await login(); return call(path, options); }
  if (response.status === 204) return null;
  const body = await response.json();
  if (!response.ok) throw new Error(body.detail || response.statusText);
  return body;
}

// login asks for the token of the server until it is the right one.
function login() {
  return new Promise((done) => {
    const token = el("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
    const form = el("form", { onsubmit: async (event) => {
      event.preventDefault();
      const r = await fetch("/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token: token.value }) });
      if (r.ok) done(); else say("that is not the token of the server", true);
    } }, el("label", {}, "Token of the server", token), el("button", {}, "Open"));
    main.replaceChildren(form);
    token.focus();
  });
}

let views = null;
async function declared(name) {
  if (!views) views = (await call("/views")).views;
  return views.find((v) => v.name === name);
}

const timeScales = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const nanoseconds = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
// shown writes a value for people; the title of the cell has the exact one.
function shown(value, unit) {
  if (value === null || value === undefined || value === "") return "–";
  if (Array.isArray(value)) return value.map((v) => (v && typeof v === "object" ? Object.values(v).filter((x) => typeof x !== "object").join(" ") : String(v))).join(", ");
  if (typeof value === "object") return JSON.stringify(value);
  if (typeof value !== "number") return String(value);
  if (nanoseconds[unit]) {
    const ns = value * nanoseconds[unit];
    const [scale, name] = timeScales.find(([s]) => Math.abs(ns) >= s) || timeScales[3];
    return (ns / scale).toLocaleString("en", { maximumFractionDigits: 3 }) + " " + name;
  }
  if (unit === "share") return (100 * value).toLocaleString("en", { maximumSignificantDigits: 3 }) + " %";
  if (unit === "percent") return value.toLocaleString("en", { maximumSignificantDigits: 3 }) + " %";
  return value.toLocaleString("en", { maximumFractionDigits: 3 });
}

// table draws an answer by the declaration of its view.
function table(view, answer, extra) {
  const have = new Set(answer.rows.flatMap((r) => Object.keys(r)));
  const info = view.tables.reduce((best, t) => (hits(t, have) > hits(best, have) ? t : best));
  const columns = info.columns.filter((c) => !c.detail && have.has(c.key));
  const head = el("tr", {}, ...(extra ? [el("th", {}, extra.title)] : []), ...columns.map((c) => {
    const title = extra && extra.sort ? el("button", { onclick: () => extra.sort(c.key) }, c.title) : c.title;
    return el("th", { class: c.align, title: c.help || false, scope: "col" }, title);
  }));
  const body = answer.rows.map((row) => el("tr", {}, ...(extra ? [el("td", {}, extra.cell(row))] : []),
    ...columns.map((c) => el("td", { class: c.align, title: typeof row[c.key] === "number" ? String(row[c.key]) : false }, extra && extra.link && c.key === "id" ? el("a", { href: "#run/" + encodeURIComponent(row.id) }, row.id) : shown(row[c.key], c.unit)))));
  const out = [el("div", { class: "scroll", tabindex: "0" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...body)))];
  if (answer.rows.length === 0) out.push(el("p", {}, "no rows"));
  if (answer.rows_left_out > 0) out.push(el("p", { class: "note" }, answer.rows_left_out + " more rows are left out"));
  for (const w of answer.warnings) out.push(el("p", { class: "note" }, w));
  return out;
}
const hits = (t, have) => t.columns.filter((c) => have.has(c.key)).length;

const filter = { model: "", gpu: "", status: "", tag: "", since: "", sort: "-created", top: "200" };
const chosen = new Set();

async function listRuns() {
  const query = new URLSearchParams(Object.entries(filter).filter(([, v]) => v !== ""));
  const [view, answer] = [await declared("runs"), await call("/runs?" + query)];
  const fields = ["model", "gpu", "status", "tag", "since"].map((key) => el("label", {}, key,
    el("input", { name: key, value: filter[key], type: key === "since" ? "date" : "text" })));
  const form = el("form", { id: "filter", onsubmit: (event) => {
    event.preventDefault();
    for (const [k, v] of new FormData(event.target)) filter[k] = v;
    show();
  } }, ...fields, el("button", {}, "Filter"));
  const compare = el("button", { type: "button", id: "compare", onclick: () => { location.hash = "compare/" + [...chosen].map(encodeURIComponent).join("/"); } }, "Compare the chosen (first is the base)");
  const files = el("input", { type: "file", name: "file", multiple: true, required: true });
  const upload = el("form", { id: "upload", onsubmit: async (event) => {
    event.preventDefault();
    say("uploading");
    await guarded(async () => { const made = await call("/runs", { method: "POST", body: new FormData(event.target) }); say(""); location.hash = "run/" + made.id; });
  } }, el("label", {}, "A packed run, or files of nsys and ncu", files), el("label", {}, "label", el("input", { name: "label" })), el("button", {}, "Upload"));
  main.replaceChildren(form, el("nav", {}, compare), ...table(view, answer, {
    title: "", link: true,
    sort: (key) => { if (key === "stages") return; filter.sort = filter.sort === "-" + key ? key : "-" + key; show(); },
    cell: (row) => el("input", { type: "checkbox", "aria-label": "choose " + row.id, checked: chosen.has(row.id), onchange: (e) => { if (e.target.checked) chosen.add(row.id); else chosen.delete(row.id); } }),
  }), upload);
}

async function showRun(id, name) {
  await declared("runs");
  const run = "/runs/" + encodeURIComponent(id);
  const detail = await call(run);
  const links = views.filter((v) => v.path.includes("{run}")).map((v) => el("a", { href: "#run/" + encodeURIComponent(id) + "/" + v.name, title: v.short }, v.name));
  const tags = el("input", { name: "tags", value: (detail.tags || []).join(", ") });
  const comment = el("textarea", { name: "comment", rows: "2", cols: "50" }, detail.comment || "");
  const form = el("form", { id: "tags", onsubmit: async (event) => {
    event.preventDefault();
    await guarded(async () => {
      await call(run + "/tags", { method: "PUT", headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ tags: tags.value.split(",").map((t) => t.trim()).filter((t) => t), comment: comment.value }) });
      say("saved");
    });
  } }, el("label", {}, "tags, with commas between them", tags), el("label", {}, "note", comment), el("button", {}, "Save"));
  const remove = el("button", { type: "button", id: "delete", onclick: async () => {
    if (!confirm("Delete the run " + id + "? Its captures are gone then.")) return;
    await guarded(async () => { await call(run, { method: "DELETE" }); location.hash = ""; });
  } }, "Delete");
  const body = el("section", { id: "view" });
  main.replaceChildren(el("h2", {}, id), el("p", {}, [detail.summary.status, detail.summary.label, detail.summary.gpu].filter(Boolean).join(" · ")),
    el("nav", {}, el("a", { href: api + run + "/report", target: "_blank", rel: "noopener" }, "report"), el("a", { href: "#run/" + encodeURIComponent(id) + "/timeline" }, "timeline"), ...links), body, form, remove);
  if (name === "timeline") return timeline(run, body);
  const view = await declared(name || "findings");
  const answer = await call(run + "/" + view.name + "?top=200");
  body.replaceChildren(el("h3", {}, view.name), el("p", { class: "note" }, view.short), ...table(view, answer));
}

// timeline draws tiles: each zoom or move asks for another.
async function timeline(run, body) {
  const canvas = el("canvas", { height: "400", tabindex: "0", "aria-label": "timeline: plus and minus zoom, arrows move" });
  const about = el("p", { id: "tile", class: "note" });
  body.replaceChildren(canvas, about);
  let from = 0, to = null, length = 0;
  const draw = async () => {
    const t = await call(run + "/timeline?width=" + Math.min(2000, canvas.clientWidth || 1000) + "&start_ns=" + Math.round(from) + (to === null ? "" : "&end_ns=" + Math.round(to)));
    [from, to, length] = [t.start_ns, t.end_ns, t.length_ns];
    const row = 16, c = canvas.getContext("2d");
    canvas.width = canvas.clientWidth || 1000; canvas.height = Math.max(40, row * t.lanes.length);
    canvas.style.height = canvas.height + "px";
    t.lanes.forEach((lane, i) => {
      for (const b of lane.boxes) {
        const x = (b.s - from) / (to - from) * canvas.width;
        c.fillStyle = "hsl(" + (b.n * 47) % 360 + " 60% " + (lane.kind === "nvtx" ? 70 : 50) + "%)";
        c.fillRect(x, i * row, Math.max(1, b.d / (to - from) * canvas.width), row - 2);
      }
    });
    about.textContent = shown(from, "ns") + " to " + shown(to, "ns") + " of " + shown(length, "ns") + "; " + t.lanes.map((l) => l.kind + " " + l.label + ": " + l.events).join("; ");
  };
  const move = (start, end) => { const span = Math.min(length, Math.max(1000, end - start)); from = Math.max(0, Math.min(start, length - span)); to = from + span; return guarded(draw); };
  canvas.addEventListener("keydown", (e) => {
    const span = to - from, middle = (from + to) / 2;
    if (e.key === "+") move(middle - span / 4, middle + span / 4);
    else if (e.key === "-") move(middle - span, middle + span);
    else if (e.key === "ArrowLeft") move(from - span / 4, to - span / 4);
    else if (e.key === "ArrowRight") move(from + span / 4, to + span / 4);
  });
  canvas.addEventListener("click", (e) => { const span = to - from, at = from + e.offsetX / canvas.clientWidth * span; move(at - span / 8, at + span / 8); });
  await draw();
}

async function compareRuns(ids) {
  if (ids.length < 2) throw new Error("choose two runs or more");
  const query = new URLSearchParams([["base", ids[0]], ...ids.slice(1).map((id) => ["new", id]), ["top", "500"]]);
  const [view, answer] = [await declared("compare"), await call("/compare?" + query)];
  main.replaceChildren(el("h2", {}, "comparison"), el("p", {}, ids[0] + " against " + ids.slice(1).join(", ")), ...table(view, answer));
}

async function guarded(work) {
  try { await work(); } catch (e) { say(e.message, true); }
}

function show() {
  say("");
  const [page, ...rest] = location.hash.slice(1).split("/").map(decodeURIComponent);
  return guarded(async () => {
    if (page === "run") await showRun(rest[0], rest[1]);
    else if (page === "compare") await compareRuns(rest);
    else await listRuns();
    main.dataset.ready = location.hash || "#";
  });
}
addEventListener("hashchange", show);
show();
