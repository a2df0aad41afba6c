import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { announce } from "./announce";
import { count, date } from "./format";
import { First } from "./first";
import { KernelPage, Tile } from "./kernelpage";
import { Kernels, searchKernels } from "./kernels";
import { list } from "./list";
import { ModelProvider, useModel, type Model } from "./model";
import { Section } from "./parts";
import { Operators } from "./operators";
import { Ranks } from "./ranks";
import { Regions } from "./regions";
import { Roofline } from "./roofline";
import { addressNow, useRoute } from "./route";
import { Doubts, Environment, Findings, Method, Opportunities, UtilisationTable } from "./sections";
import { Requests } from "./serving";
import { Stages } from "./stages";
import { Steps } from "./steps";
import { choose, useTheme, type Choice } from "./theme";
import { Timeline } from "./timeline";
import { hideTip } from "./tip";
import { say } from "./words";

/** Sections by ID, with that of their name in the contents. */
const places: [id: string, name: string][] = [
  ["findings", "findings"],
  ["requests", "requests-short"],
  ["time", "time"],
  ["timeline", "timeline"],
  ["ranks", "ranks"],
  ["regions", "regions"],
  ["steps", "steps"],
  ["kernels", "kernels"],
  ["roofline", "roofline"],
  ["utilisation", "use-short"],
  ["opportunities", "opportunities"],
  ["operators", "operators"],
  ["run", "run"],
  ["environment", "environment"],
  ["method", "method"],
  ["doubts", "warnings"],
];

export function App(p: { model: Model }) {
  const route = useRoute();
  const kernel = route.page === "kernel" ? route.id : null;
  const scroll = useRef(kernel === null ? 0 : -1); // -1 while the overview was not seen
  const from = useRef<HTMLElement | null>(null); // what had the focus there
  const before = useRef<string | null>(null);
  const seeks = useRef(false); // the page of a kernel was left to search
  const here = useRef<HTMLElement>(null);
  const [present, setPresent] = useState<string[]>([]);
  useEffect(() => {
    setPresent([...(here.current?.querySelectorAll("section[id]") ?? [])].map((s) => s.id));
  }, []);

  useEffect(() => {
    const remember = () => {
      if (before.current === null) scroll.current = scrollY;
    };
    const focused = (e: FocusEvent) => {
      if (before.current === null) from.current = e.target as HTMLElement;
    };
    const leave = (e: KeyboardEvent) => {
      if (before.current !== null && e.key === "Escape" && !e.defaultPrevented && !busyWith(e.target)) location.hash = "#kernels";
      if (e.key !== "/" || e.ctrlKey || e.metaKey || (e.target as HTMLElement).matches?.("input, select, textarea")) return;
      e.preventDefault();
      if (before.current === null) searchKernels();
      else {
        seeks.current = true;
        location.hash = "#kernels";
      }
    };
    addEventListener("scroll", remember, { passive: true });
    addEventListener("focusin", focused);
    addEventListener("keydown", leave);
    return () => {
      removeEventListener("scroll", remember);
      removeEventListener("focusin", focused);
      removeEventListener("keydown", leave);
    };
  }, []);

  // The overview stays in place, hidden, so that coming back finds it as it was.
  useLayoutEffect(() => {
    const was = before.current;
    before.current = kernel;
    hideTip();
    if (kernel !== null) return;
    if (seeks.current) {
      seeks.current = false;
      searchKernels(true);
      return;
    }
    if (was !== null && scroll.current >= 0) scrollTo(0, scroll.current);
    else if (route.page === "overview" && route.section) goTo(route.section, was !== null);
    if (was !== null) origin(from.current, was)?.focus({ preventScroll: true });
  }, [kernel, route]);

  return (
    <ModelProvider value={p.model}>
      <a
        class="skip"
        href="#findings"
        onClick={(e) => {
          if (kernel === null) return;
          e.preventDefault();
          document.querySelector<HTMLElement>("#kernel-page h1")?.focus();
        }}
      >
        {say("skip")}
      </a>
      <Bar onKernel={kernel !== null} />
      <div class="frame">
        <Nav present={present} onKernel={kernel !== null} />
        <main ref={here} class="overview" hidden={kernel !== null}>
          <Overview />
        </main>
        {kernel !== null && <KernelPage id={kernel} />}
      </div>
      <Footer />
    </ModelProvider>
  );
}

/** Scrolls to a section; once more where the overview is shown for the first time, when its plots know how large they are. */
function goTo(section: string, first: boolean): void {
  const go = () => document.getElementById(section)?.scrollIntoView(first ? { behavior: "instant" } : undefined);
  go();
  if (first) requestAnimationFrame(() => requestAnimationFrame(go));
}

/** Whether Escape has a meaning of its own where it is pressed: it empties a search, it closes a list. */
function busyWith(target: EventTarget | null): boolean {
  return target instanceof HTMLSelectElement || (target instanceof HTMLInputElement && target.value !== "");
}

/** What to focus when the page of a kernel closes: its row, where one comes from the table, else what it was opened from. */
function origin(from: HTMLElement | null, kernel: string): HTMLElement | null {
  const there = from?.isConnected ? from : null;
  if (there && !there.closest("#kernel-table")) return there;
  return document.querySelector<HTMLElement>(`#kernel-table a[href="#/kernel/${encodeURIComponent(kernel)}"]`) ?? there;
}

/** Copies a text; false where the browser does not let a page do that, as in a sandbox. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function Bar(p: { onKernel: boolean }) {
  const { result, subject } = useModel();
  const { choice } = useTheme();
  const [shared, setShared] = useState("");
  async function share() {
    const done = await copyText(addressNow());
    setShared(say(done ? "link-copied" : "copy-address"));
    announce(say(done ? "link-copied" : "cannot-copy"));
    setTimeout(() => setShared(""), 4000);
  }
  return (
    <header class="bar">
      <a class="brand" href="#findings">
        deepprof
      </a>
      {p.onKernel && <span class="run">{subject}</span>}
      {result.unfinished && p.onKernel && <span class="tag recorded">{say("run-status", { status: say(`status-${result.source.status}`) })}</span>}
      {result.source.recorded && p.onKernel && <span class="tag recorded">{say("recorded")}</span>}
      {result.scope && (
        <span class="tag scope-tag" title={result.scope.text}>
          {say("scope-tag", { name: result.scope.name })}
        </span>
      )}
      <span class="tag" id="baseline">
        {say("baseline-tag", { name: result.baseline?.name ?? say("no-baseline") })}
      </span>
      <span class="space" />
      <label class="theme">
        <span class="unseen">{say("colors")}</span>
        <select id="theme" value={choice} onChange={(e) => choose(e.currentTarget.value as Choice)}>
          <option value="auto">{say("color-auto")}</option>
          <option value="light">{say("color-light")}</option>
          <option value="dark">{say("color-dark")}</option>
        </select>
      </label>
      <button type="button" id="share" class="print" title={say("share-help")} onClick={() => void share()}>
        {shared || say("share")}
      </button>
      <button type="button" class="print" onClick={() => print()}>
        {say("print")}
      </button>
    </header>
  );
}

function Overview() {
  return (
    <>
      <First />
      <Findings />
      <Requests />
      <Stages />
      <Timeline />
      <Ranks />
      <Regions />
      <Steps />
      <Kernels />
      <Roofline />
      <UtilisationTable />
      <Opportunities />
      <Operators />
      <Run />
      <Environment />
      <Method />
      <Doubts />
    </>
  );
}

function Nav(p: { present: string[]; onKernel: boolean }) {
  const [current, setCurrent] = useState("findings");
  useEffect(() => {
    if (p.present.length === 0) return;
    let waiting = false;
    const look = () => {
      waiting = false;
      const seen = p.present.filter((id) => (document.getElementById(id)?.getBoundingClientRect().top ?? Infinity) < innerHeight * 0.4);
      setCurrent(seen.at(-1) ?? p.present[0]!);
    };
    const scrolled = () => {
      if (!waiting) requestAnimationFrame(look);
      waiting = true;
    };
    look();
    addEventListener("scroll", scrolled, { passive: true });
    return () => removeEventListener("scroll", scrolled);
  }, [p.present]);
  return (
    <nav class="contents" aria-label={say("contents")}>
      <ul>
        {places
          .filter(([id]) => p.present.includes(id))
          .map(([id, label]) => (
            <li key={id}>
              <a href={`#${id}`} aria-current={id === (p.onKernel ? "kernels" : current) ? "location" : undefined}>
                {say(label)}
              </a>
            </li>
          ))}
      </ul>
    </nav>
  );
}

/** A version without its build; the section Environment has all of it. */
function release(version: string): string {
  return version.split(" ")[0]!;
}

/** What ran, when, with which versions, and how much of it was recorded. */
function Run() {
  const model = useModel();
  const { source, environment, workload, totals, scope } = model.result;
  const { timed, part } = model;
  const facts = [
    workload.kind,
    environment.cuda && say("run-cuda", { version: environment.cuda }),
    environment.driver && say("run-driver", { version: environment.driver }),
    environment.nsys && say("run-nsys", { version: release(environment.nsys) }),
    environment.ncu && say("run-ncu", { version: release(environment.ncu) }),
    ...list(workload.shape).map((f) => `${f.name} ${f.value}`),
  ].filter(Boolean);
  const run = source.run !== model.subject && source.run;
  const when = [source.created && date(source.created), source.status && say("run-status", { status: say(`status-${source.status}`) })].filter(Boolean).join(", ");
  return (
    <Section id="run" title={say("run")}>
      <p>
        {run && <bdi>{run}</bdi>}
        {run && when && ", "}
        {when}
      </p>
      <p class="where">{facts.join(" · ")}</p>
      {scope && <p id="run-scope">{say("run-scope", { text: scope.text })}</p>}
      <div class="tiles" id="totals">
        {timed && <Tile name={say("wall-nsys")} value={part.wall} note={scope ? say("wall-of", { time: totals.wall_ns_text }) : say("wall-whole")} />}
        {timed && part.busy != null && <Tile name={say("busy")} value={part.busy} note={say("busy-note", { gpus: list(totals.devices).length > 1 && list(totals.devices).length })} />}
        {timed && <Tile name={say("kernel-launches")} value={count(part.launches)} note={say("launches-note", { names: part.names, outside: scope?.outside_launches })} />}
        {model.rangesAlone && <Tile name={say("regions-whole")} value={count(list(model.result.regions).length)} note={say("regions-whole-note")} />}
        {!timed && model.kernels.length > 0 && <Tile name={say("kernels-counted")} value={count(model.result.counted_kernels)} note={say("by-ncu")} />}
        {timed && !scope && (totals.sets ?? 0) > 0 && <Tile name={say("memory-sets")} value={count(totals.sets)} note={`${totals.set_bytes_text}, ${totals.set_ns_text}`} />}
        {timed && !scope && totals.copies > 0 && <Tile name={say("copies")} value={count(totals.copies)} note={`${totals.copy_bytes_text}, ${totals.copy_ns_text}`} />}
      </div>
    </Section>
  );
}

function Footer() {
  const { result } = useModel();
  const licences = document.getElementById("licences")?.textContent;
  return (
    <footer>
      <p>
        {say("made-by", { version: result.deepprof_version, schema: String(result.schema) })}
      </p>
      {licences && (
        <details>
          <summary>{say("licenses")}</summary>
          <pre tabIndex={0} role="region" aria-label={say("licenses")}>
            {licences}
          </pre>
        </details>
      )}
    </footer>
  );
}
