"use strict";
// The page of deepprof serve. It uses the REST API under /api/v1 and nothing else;
// texts are set as text, never as HTML. What is shown, with every filter, is in the
// hash: a link opens the same.
const api = "/api/v1";
const main = document.getElementById("main");
// word is a text of words.js, which deepprof makes, with its values; numbers are counts.
const word = (id, values = {}) => words[id].replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (_, name, one, many) => {
  const value = values[name], shown = typeof value === "number" ? value.toLocaleString("en") : value;
  return one === undefined ? shown : shown + " " + (value === 1 ? one : many);
});
const say = (text, bad) => { const s = document.getElementById("status"); s.textContent = text; s.className = bad ? "error" : ""; };

// el makes an element with attributes and children.
function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (value === true) e.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) e.setAttribute(key, value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
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
      if (r.ok) done(); else say((await r.json()).detail, true);
    } }, el("label", {}, word("token"), token), el("button", {}, word("open")));
    main.replaceChildren(form);
    token.focus();
  });
}

let views = null;
async function declared(name) {
  if (!views) views = (await call("/views")).views;
  return views.find((v) => v.name === name);
}

// The hash is PLACE/PART/...?FILTERS.
const place = () => {
  const [path, query] = location.hash.slice(1).split("?");
  return { path: path.split("/").map(decodeURIComponent), query: new URLSearchParams(query || "") };
};
const link = (path, query) => {
  const text = new URLSearchParams([...(query || [])].filter(([, v]) => v !== "")).toString();
  return "#" + path.map(encodeURIComponent).join("/") + (text ? "?" + text : "");
};

// table draws an answer in the layout of a page. extra may link ids, sort on the
// server and put a cell before each row.
function table(answer, extra = {}) {
  const id = answer.columns.findIndex((c) => c.key === "id");
  const body = el("tbody");
  const draw = (rows) => body.replaceChildren(...rows.map((row) => el("tr", {}, extra.cell && el("td", {}, extra.cell(row[id].t)),
    ...row.map((cell, i) => el("td", { class: answer.columns[i].align + " " + answer.columns[i].format, title: cell.n }, i === id && extra.linked ? el("a", { href: link(["run", cell.t]) }, cell.t) : el("bdi", {}, cell.t))))));
  const heads = answer.columns.map((c, i) => {
    const order = extra.sorted && extra.sorted.replace(/^-/, "") === c.key ? (extra.sorted.startsWith("-") ? "descending" : "ascending") : null;
    const head = el("th", { class: c.align, title: c.help, scope: "col", "aria-sort": order }, extra.keys && !extra.keys.includes(c.key) ? c.title : el("button", { type: "button", "data-key": c.key, onclick: () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      if (extra.sort) return extra.sort((down ? "-" : "") + c.key);
      heads.forEach((h) => h.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      draw([...answer.rows].sort((a, b) => (down ? -1 : 1) * compareCells(a[i], b[i])));
    } }, c.title));
    return head;
  });
  draw(answer.rows);
  const out = [el("div", { class: "scroll", tabindex: "0" }, el("table", {}, el("thead", {}, el("tr", {}, extra.cell && el("th"), ...heads)), body))];
  if (answer.rows.length === 0) out.push(el("p", {}, word("no-rows")));
  const notes = [answer.rows_left_out > 0 ? word("rows-left-out", { n: answer.rows_left_out }) : null, extra.sort ? null : answer.order, answer.legend, ...answer.warnings];
  return [...out, ...notes.filter(Boolean).map((n) => el("p", { class: "note" }, n))];
}
const compareCells = (a, b) => ("s" in a && "s" in b ? a.s - b.s : "s" in a ? 1 : "s" in b ? -1 : a.t.localeCompare(b.t, "en", { numeric: true }));

// filterForm asks for the filters of a view and opens the place with them.
function filterForm(id, path, query, fields) {
  return el("form", { id, onsubmit: (event) => {
    event.preventDefault();
    location.hash = link(path, [...new FormData(event.target)].map(([k, v]) => [k, String(v)]));
  } }, ...fields, el("button", {}, word("apply")), query.size > 0 && el("a", { href: link(path) }, word("clear")));
}
const field = (name, text, input) => el("label", {}, text, input || el("input", { name }));

const chosen = new Set(); // runs to compare, in the order of the choice

async function listRuns(query) {
  const asked = new URLSearchParams(query);
  asked.set("as", "page");
  if (!asked.has("sort")) asked.set("sort", "-created");
  if (!asked.has("top")) asked.set("top", "200");
  const [answer, baselines, { params }] = await Promise.all([call("/runs?" + asked), call("/baselines"), declared("runs")]);
  const value = (name) => query.get(name) || "";
  const states = el("select", { name: "status" }, ...["", ...params.status.items.enum].map((s) => el("option", { value: s, selected: s === value("status") }, s || word("any"))));
  const filters = filterForm("filter", ["runs"], query, [
    field("model", word("model-or-program"), el("input", { name: "model", value: value("model") })), field("gpu", "GPU", el("input", { name: "gpu", value: value("gpu") })), field("status", word("status"), states),
    field("tag", word("tag"), el("input", { name: "tag", value: value("tag") })), field("since", word("since"), el("input", { name: "since", type: "date", value: value("since") })),
    field("until", word("before"), el("input", { name: "until", type: "date", value: value("until") })), el("input", { type: "hidden", name: "sort", value: value("sort") })]);
  const base = el("select", { id: "base" });
  const compare = el("button", { type: "button", id: "compare", onclick: () => { location.hash = link(["compare", base.value, ...[...chosen].filter((id) => id !== base.value)]); } }, word("compare"));
  const offer = () => {
    const was = base.value;
    base.replaceChildren(...[...chosen].map((id) => el("option", { value: id }, id)), ...baselines.rows.map((b) => el("option", { value: b.name }, word("baseline", { name: b.name }))));
    if ([...base.options].some((o) => o.value === was)) base.value = was;
    compare.disabled = [...chosen].filter((id) => id !== base.value).length === 0;
  };
  base.addEventListener("change", offer);
  const upload = el("form", { id: "upload", onsubmit: async (event) => {
    event.preventDefault();
    say(word("uploading"));
    await guarded(async () => { const made = await call("/runs", { method: "POST", body: new FormData(event.target) }); say(""); location.hash = link(["run", made.id]); });
  } }, field("file", word("upload-files"), el("input", { type: "file", name: "file", multiple: true, required: true })), field("label", word("label")), el("button", {}, word("upload")));
  main.replaceChildren(el("h2", {}, word("runs", { n: answer.rows.length + answer.rows_left_out })), filters, ...table(answer, {
    linked: true, sorted: asked.get("sort"), keys: params.sort.enum,
    sort: (key) => { const next = new URLSearchParams(query); next.set("sort", key); location.hash = link(["runs"], next); },
    cell: (id) => el("input", { type: "checkbox", "aria-label": word("compare-run", { id }), checked: chosen.has(id), onchange: (e) => { if (e.target.checked) chosen.add(id); else chosen.delete(id); offer(); } }),
  }), el("nav", { id: "comparing" }, field("base", word("compare-with"), base), compare), upload);
  offer();
}

// parameters asks for those of a view.
function parameters(view, path, query) {
  const inputs = Object.entries(view.params).map(([name, schema]) => field(name, name, schema.type === "boolean"
    ? el("input", { name, type: "checkbox", value: "true", checked: query.get(name) === "true", title: schema.description })
    : el("input", { name, size: "12", value: query.get(name), placeholder: schema.default === undefined ? null : String(schema.default), title: schema.description })));
  return el("details", { open: query.size > 0 }, el("summary", {}, word("options")), filterForm("options", path, query, inputs));
}

async function showRun(id, name, query) {
  await declared("runs");
  const run = "/runs/" + encodeURIComponent(id);
  const detail = await call(run);
  const links = ["timeline", ...views.filter((v) => v.path.includes("{run}")).map((v) => v.name)].map((v) =>
    el("a", { href: link(["run", id, v]), "aria-current": v === (name || "findings") ? "page" : null }, v));
  const tags = el("input", { name: "tags", value: (detail.tags || []).join(", ") });
  const comment = el("textarea", { name: "comment", rows: "2", cols: "50" }, detail.comment || "");
  const form = el("form", { id: "tags", onsubmit: async (event) => {
    event.preventDefault();
    await guarded(async () => {
      await call(run + "/tags", { method: "PUT", headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ tags: tags.value.split(",").map((t) => t.trim()).filter((t) => t), comment: comment.value }) });
      say(word("saved"));
    });
  } }, field("tags", word("tags"), tags), field("comment", word("note"), comment), el("button", {}, word("save")));
  const sure = el("button", { type: "button", id: "delete-sure", hidden: true, onclick: () => guarded(async () => {
    await call(run, { method: "DELETE" });
    chosen.delete(id);
    location.hash = "";
  }) }, word("delete-sure"));
  const remove = el("button", { type: "button", id: "delete", onclick: () => { sure.hidden = !sure.hidden; } }, word("delete"));
  const body = el("section", { id: "view" });
  main.replaceChildren(el("h2", {}, el("bdi", {}, id)), el("p", {}, el("bdi", {}, [detail.summary.status, detail.summary.label, detail.summary.gpu].filter(Boolean).join(" · "))),
    el("nav", { id: "views" }, el("a", { href: api + run + "/report", target: "_blank", rel: "noopener" }, word("report")), ...links), body, form, el("p", {}, remove, " ", sure));
  if (name === "timeline") return timeline(run, id, query, body);
  const view = await declared(name || "findings");
  if (!view) throw new Error(word("no-view", { name }));
  const asked = new URLSearchParams(query);
  asked.set("as", "page");
  body.replaceChildren(el("h3", {}, view.name), el("p", { class: "note" }, view.short), parameters(view, ["run", id, view.name], query));
  body.append(...table(await call(run + "/" + view.name + "?" + asked)));
}

async function compareRuns(sides, query) {
  if (sides.length < 2) throw new Error(word("compare-none"));
  const asked = new URLSearchParams([["base", sides[0]], ...sides.slice(1).map((id) => ["new", id]), ["top", "1000"], ["as", "page"], ...query]);
  const kinds = ["", ...(await declared("compare")).params.of.enum];
  const of = el("select", { name: "of" }, ...kinds.map((k) => el("option", { value: k, selected: k === query.get("of") }, k || word("everything"))));
  main.replaceChildren(el("h2", {}, word("comparison")), el("p", {}, el("bdi", {}, word("against", { base: sides[0], others: sides.slice(1).join(", ") }))),
    el("p", {}, el("a", { id: "compare-report", href: api + "/compare/report?" + new URLSearchParams([["base", sides[0]], ...sides.slice(1).map((id) => ["new", id])]), target: "_blank", rel: "noopener" }, word("as-report"))),
    filterForm("kinds", ["compare", ...sides], query, [field("of", word("rows-of"), of)]), ...table(await call("/compare?" + asked)));
}

async function guarded(work) {
  try { await work(); } catch (e) { say(e.message, true); }
}

function show() {
  say("");
  const hash = location.hash;
  const { path, query } = place();
  return guarded(async () => {
    if (path[0] === "run") await showRun(path[1], path[2], query);
    else if (path[0] === "compare") await compareRuns(path.slice(1), query);
    else await listRuns(query);
    main.dataset.ready = hash || "#";
  });
}
addEventListener("hashchange", show);
show();
