import type { Found } from "./timelinesearch";
import { say } from "./words";

/** Looks for events by name. found tells how many there are and which one is selected; null while nothing is looked for. */
export function Finder(p: { query: string; setQuery: (query: string) => void; found: Found | null; go: (by: 1 | -1) => void }) {
  return (
    <form
      class="finder"
      role="search"
      onSubmit={(e) => {
        e.preventDefault();
        p.go(1);
      }}
    >
      <input
        id="timeline-search"
        type="search"
        aria-label={say("find-event")}
        placeholder={say("find-event")}
        value={p.query}
        autocomplete="off"
        spellcheck={false}
        onInput={(e) => p.setQuery(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key !== "Enter" || !e.shiftKey) return;
          e.preventDefault();
          p.go(-1);
        }}
      />
      <button type="button" id="find-before" disabled={p.found?.of === 0} onClick={() => p.go(-1)}>
        {say("find-previous")}
      </button>
      <button type="submit" id="find-next" disabled={p.found?.of === 0}>
        {say("find-next")}
      </button>
      <output id="find-count">{p.found && foundText(p.found)}</output>
    </form>
  );
}

export function foundText(found: Found): string {
  if (found.of === 0) return say("find-none");
  return found.at > 0 ? say("find-place", { n: found.at, of: found.of }) : say("find-some", { n: found.of });
}
