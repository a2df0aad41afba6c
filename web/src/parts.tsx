import { Fragment, type ComponentChildren } from "preact";
import { joined, sentence, stop } from "./format";
import type { Fact, Kernel } from "./result";
import { useModel } from "./model";
import { kernelHref } from "./route";
import { say } from "./words";

export function Section(p: { id: string; title: string; lead?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section id={p.id} aria-labelledby={`${p.id}-title`}>
      <h2 id={`${p.id}-title`} tabIndex={-1}>
        {p.title}
      </h2>
      {p.lead && <p class="lead">{p.lead}</p>}
      {p.children}
    </section>
  );
}

/** A list to choose one of, or all; options are values with their names. */
export function Choice(p: { label: string; value: string; choose: (value: string) => void; options: (readonly [value: string, name: string])[] }) {
  return (
    <label class="field">
      <span>{p.label}</span>
      <select value={p.value} onChange={(e) => p.choose(e.currentTarget.value)}>
        <option value="">{say("all")}</option>
        {p.options.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Says that something was not measured, why, and what would tell it. */
export function Absent(p: { what: string; why?: string }) {
  const { untold } = useModel();
  return (
    <p class="quiet absent">
      {say("absent-what", { what: p.what })} {stop(p.why ?? (untold ? sentence(untold.text) : say("not-in-result")))} {!p.why && untold?.next && say("next", { what: stop(untold.next) })}
    </p>
  );
}

/** A coloured square; the name stands beside it. */
export function Swatch(p: { colour: string; hatch?: string | undefined }) {
  return <span class={p.hatch ? `swatch hatch ${p.hatch}` : "swatch"} style={{ backgroundColor: p.colour }} aria-hidden="true" />;
}

/** A share with a bar; the bar is full at most, which is 1 unless given. */
export function Meter(p: { share: number; label: string | undefined; most?: number }) {
  const width = `${Math.max(0, Math.min(1, p.share / (p.most || 1))) * 100}%`;
  return (
    <span class="meter">
      <span class="meter-text">{p.label}</span>
      <span class="meter-bar" aria-hidden="true">
        <span style={{ width }} />
      </span>
    </span>
  );
}

export function Facts(p: { facts: Fact[] }) {
  if (p.facts.length === 0) return null;
  return (
    <dl class="facts">
      {p.facts.map((f, i) => (
        <div key={i}>
          <dt>{f.name}</dt>
          <dd>{joined(f.value)}</dd>
        </div>
      ))}
    </dl>
  );
}

export function CategoryName(p: { id: string }) {
  const { palette } = useModel();
  return (
    <span class="named" title={palette.label(p.id)}>
      <Swatch colour={palette.category(p.id)} />
      {palette.label(p.id)}
    </span>
  );
}

export function LimiterName(p: { kernel: Kernel; text?: string }) {
  const l = p.kernel.limiter;
  if (!l.kind) return <span class="quiet">{say("not-known")}</span>;
  return (
    <span class={`limiter limiter-${l.kind.replace(/\W/g, "")}`} title={p.text || l.label || l.kind}>
      {p.text || l.label || l.kind}
    </span>
  );
}

const [tail, longTail] = [12, 24];

/** Where the end of a name begins that stays in view: the words that tell it from others are not cut through. */
function cutAt(name: string): number {
  if (name.length <= 3 * tail) return name.length;
  const words = name.endsWith("]") ? name.lastIndexOf(" [") : -1;
  if (words < 0) return name.length - tail;
  return name.length - words <= longTail ? words : Math.max(name.lastIndexOf(" "), name.length - longTail);
}

/** A name whose middle gives way where room is short. */
export function Shortened(p: { name: string }) {
  const cut = cutAt(p.name);
  return (
    <>
      <span>{p.name.slice(0, cut)}</span>
      <span>{p.name.slice(cut)}</span>
    </>
  );
}

/**
 * A link to the page of a kernel. Where room is short the middle of the name
 * gives way. In a row that opens the same page the row is the stop of the Tab
 * key, so that a long table is not as many stops as it has rows.
 */
export function KernelLink(p: { kernel: Kernel; name?: string; inRow?: boolean }) {
  const model = useModel();
  const name = p.name ?? model.label(p.kernel);
  return (
    <a class="kernel-link" href={kernelHref(p.kernel.id)} title={p.kernel.name} tabIndex={p.inRow ? -1 : undefined}>
      <Shortened name={name} />
    </a>
  );
}

/** The name of a counter, a setting or a file: it breaks after its marks rather than inside a word. */
export function Breakable(p: { text: string }) {
  return (
    <>
      {p.text.split(/(?<=[._/])(?![._/])/).map((part, i) => (
        <Fragment key={i}>
          {i > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </>
  );
}
