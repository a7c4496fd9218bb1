// The search page: a box, what to search, and what was found as one types.

import { useEffect, useRef } from "preact/hooks";
import { useShortcuts } from "../shell/keys";
import { NotesMissing } from "../shell/missing";
import { place } from "../shell/router";
import { noFiles, session } from "../shell/session";
import { visibleText } from "../shell/visible";
import { failure, isLoadingMore, isWaiting, loadMore, shown } from "./answer";
import { Hints } from "./hints";
import { useIndexState } from "./index_state";
import type { Mover } from "./list";
import { isComingBack, ResultList } from "./list";
import { Options } from "./options";
import type { Tab } from "./question";
import { address, ask, keepStep, question } from "./question";
import { Ranked } from "./ranked";
import { Summary } from "./summary";
import { Symbols } from "./symbols";

const TABS: { tab: Tab; name: string; placeholder: string }[] = [
  { tab: "search", name: "Search", placeholder: "Regular expression, for example fn \\w+_suspend" },
  { tab: "query", name: "Query", placeholder: "Words, for example parse config file" },
  { tab: "symbol", name: "Symbol", placeholder: "Name of a function, class, type…" },
];

export default function Page() {
  const box = useRef<HTMLInputElement>(null);
  const mover = useRef<Mover | null>(null);
  useIndexState();
  useEffect(() => {
    const isFree = document.activeElement === document.body || document.activeElement === null;
    if (isFree && !(shown.value && isComingBack(shown.value.asked))) box.current?.focus();
  }, []);

  const { text } = question.value;
  useEffect(() => {
    document.title = text ? `${visibleText(text.slice(0, 60))} · flashgrep` : "Search · flashgrep";
  }, [text]);

  const toBox = () => {
    scrollTo({ top: 0 });
    box.current?.focus();
    box.current?.select();
  };
  const isSearch = question.value.tab === "search";
  useShortcuts("Search", [
    { keys: ["/"], does: "Go to the search box", run: toBox },
    { keys: ["Escape"], does: "Back to the search box", run: toBox },
    { keys: ["j", "ArrowDown"], does: "Next result", run: () => mover.current?.move(1) },
    { keys: ["k", "ArrowUp"], does: "Previous result", run: () => mover.current?.move(-1) },
    { keys: ["Enter"], does: "Open the result", run: () => activate() },
    { keys: ["Enter"], does: "In the box: keep this search as a step to go back to", run: () => undefined },
    ...(isSearch
      ? [
          { keys: ["Alt+C"], does: "Match case or not", run: () => ask({ ignoreCase: !question.value.ignoreCase }), inFields: true },
          { keys: ["Alt+M"], does: "Match across lines or not", run: () => ask({ multiline: !question.value.multiline }), inFields: true },
        ]
      : []),
  ]);
  const kind = TABS.find((one) => one.tab === question.value.tab)!;
  const found = shown.value;
  const wrong = failure.value;
  return (
    <div class="search">
      <h1 class="visually-hidden">Search</h1>
      <Tabs onChosen={() => box.current?.focus()} />
      <form class="search-box" role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          ref={box}
          type="search"
          role="searchbox"
          aria-label="Search"
          aria-describedby="search-problem"
          aria-invalid={wrong?.isPattern === true}
          autofocus
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          enterkeyhint="search"
          placeholder={isSearch && question.value.where === "notes" ? "Regular expression, for example ^# .*plan" : kind.placeholder}
          value={question.value.text}
          onInput={(event) => ask({ text: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
            if (event.key === "ArrowDown") mover.current?.move(1);
            else if (event.key === "Enter") keepStep();
            else return;
            event.preventDefault();
          }}
        />
        {isWaiting.value && <span class="search-waiting" aria-hidden="true" />}
      </form>
      <p id="search-problem" class="search-problem" aria-live="polite">
        {wrong?.text}
      </p>
      {isSearch && <Options onChosen={() => box.current?.focus()} />}
      {!isSearch && <OtherOptions />}
      <Unserved />
      {found ? (
        <div class={isWaiting.value || wrong ? "search-found stale" : "search-found"}>
          <Summary found={found} />
          {found.kind === "search" && <ResultList files={found.answer.files} asked={found.asked} mover={mover} onLeave={toBox} />}
          {found.kind === "query" && <Ranked answer={found.answer} asked={found.asked} mover={mover} onLeave={toBox} />}
          {found.kind === "symbol" && <Symbols answer={found.answer} asked={found.asked} mover={mover} onLeave={toBox} />}
          <More />
        </div>
      ) : (
        !question.value.text && <Hints />
      )}
    </div>
  );
}

function activate(): void {
  const link = document.activeElement;
  if (link instanceof HTMLElement) link.click();
}

/** The same words in another kind of search. */
function Tabs({ onChosen }: { onChosen: () => void }) {
  const { query } = place.value; // drawn anew when the address is
  void query;
  const current = question.value.tab;
  const offered = TABS.filter((one) => one.tab === "search" || session.value?.workspace);
  return (
    <nav aria-label="Kinds of search" class="search-tabs">
      {offered.map((one) => (
        <a
          key={one.tab}
          href={address({ ...question.value, tab: one.tab })}
          aria-current={one.tab === current ? "page" : undefined}
          onClick={(event) => {
            if (!event.ctrlKey && !event.metaKey && !event.shiftKey) onChosen();
          }}
        >
          {one.name}
        </a>
      ))}
    </nav>
  );
}

function OtherOptions() {
  const asked = question.value;
  const does =
    asked.tab === "symbol" ? "Definitions first, then uses." : "Passages about these words, the best first.";
  return (
    <p class="search-explained muted">
      {does}
      {session.value?.notes && (
        <>
          {" "}
          Only files of the workspace: <a href={address({ ...asked, tab: "search", where: "notes", path: "" })}>search the notes by a pattern</a>.
        </>
      )}
    </p>
  );
}

/** What the address asks for and this person cannot have here. */
function Unserved() {
  const { query } = place.value;
  const has = session.value;
  if (!has) return null;
  const wantsNotes = query.get("in") === "notes";
  const tab = query.get("tab");
  if (wantsNotes && !has.notes) {
    return (
      <p class="search-problem" role="status">
        The address asks for notes, and this server has none: the workspace is searched. <NotesMissing />
      </p>
    );
  }
  if ((tab === "query" || tab === "symbol") && !has.workspace) {
    return (
      <p class="search-problem" role="status">
        The address asks for files of a workspace ({tab}), and {noFiles()}: the notes are searched.
      </p>
    );
  }
  return null;
}

/** The next page comes when the end of the list is near; the button is for whom it does not. */
function More() {
  const button = useRef<HTMLButtonElement>(null);
  const next = shown.value?.answer.next_offset ?? null;
  useEffect(() => {
    if (next === null || !button.current) return undefined;
    const seen = new IntersectionObserver((entries) => {
      if (entries.some((one) => one.isIntersecting)) void loadMore();
    }, { rootMargin: "600px" });
    seen.observe(button.current);
    return () => seen.disconnect();
  }, [next]);
  if (next === null) return null;
  return (
    <p class="search-more">
      <button ref={button} type="button" disabled={isLoadingMore.value} onClick={() => void loadMore()}>
        {isLoadingMore.value ? "Loading…" : "Load more"}
      </button>
    </p>
  );
}
