// What stands above the list: how much waits, the filters, and what can be done with all that is shown.

import { useEffect, useRef, useState } from "preact/hooks";
import { counted } from "../shell/age";
import type { MenuItem } from "../shell/menu";
import { Menu } from "../shell/menu";
import { isRendered, setRendered } from "./change";
import type { Action } from "./decisions";
import { settled } from "./decisions";
import { AGES, clearFilters, filters, isFiltered, setFilter } from "./filters";
import { openPast } from "./past";
import { whyNoDecisions } from "./rights";
import type { Shown } from "./selection";
import { isCut, isLoading, summary } from "./suggestions";
import { decideAll, open, select, shownCards } from "./work";

const TYPED = 250; // milliseconds after the last letter

export function Toolbar() {
  const waiting = open(shownCards.value);
  const why = whyNoDecisions();
  return (
    <div class="review-top">
      <div class="review-title">
        <h1>Review</h1>
        <p class="muted" role="status">
          {told()}
        </p>
        <div class="review-tools">
          {waiting.size > 1 && (
            <Menu items={allItems(waiting)} disabled={isLoading.value}>
              Decide all {waiting.size.toLocaleString("en")} <span aria-hidden="true">▾</span>
            </Menu>
          )}
          <button type="button" onClick={openPast}>
            Your last decisions
          </button>
          <div class="segments" role="group" aria-label="Show changes">
            <button type="button" aria-pressed={!isRendered.value} onClick={() => setRendered(false)}>
              Source
            </button>
            <button type="button" aria-pressed={isRendered.value} onClick={() => setRendered(true)}>
              Rendered
            </button>
          </div>
        </div>
      </div>
      {why && <p class="why">{why}</p>}
      <FilterBar />
    </div>
  );
}

/** For a head of several cards: what can be done with all of them. */
export function allItems(shown: Shown): MenuItem[] {
  const count = shown.size.toLocaleString("en");
  const item = (action: Action): MenuItem => ({
    name: `${action === "accept" ? "Accept" : "Reject"} all ${count}`,
    class: action,
    run: () => decideAll(shown, action),
  });
  return [item("accept"), item("reject"), { name: `Select all ${count}`, run: () => select(shown, true) }];
}

function told(): string {
  const waiting = shownCards.value.filter((one) => !settled.value.has(one.id));
  const [cards, groups] = [waiting.length, new Set(waiting.map((one) => one.note)).size];
  if (isLoading.value && !cards) return "Loading…";
  const waits = `${counted(cards, "suggestion")} in ${counted(groups, "note")}`;
  if (isLoading.value) return `${waits}, loading more…`;
  if (isCut.value) return `The first ${waits}`;
  const all = summary.value?.total;
  return isFiltered.value && all ? `${waits}, of ${all.toLocaleString("en")}` : cards ? waits : "";
}

export function focusText(): void {
  document.getElementById("review-text")?.focus();
}

function FilterBar() {
  const own = filters.value;
  return (
    <form class="filters" role="search" aria-label="Filter suggestions" onSubmit={(event) => event.preventDefault()}>
      <TextFilter />
      <Choice name="author" label="Author" all="All authors" options={authors()} />
      <Choice name="folder" label="Folder" all="All folders" options={folders()} />
      <Choice name="age" label="Age" all="Any age" options={AGES.map((one) => [one.value, one.name])} />
      <label class="check">
        <input type="checkbox" checked={own.unseen !== ""} onChange={(event) => setFilter("unseen", event.currentTarget.checked ? "1" : "")} />
        Unseen
      </label>
      {own.note && (
        <button type="button" onClick={() => setFilter("note", "")} aria-label={`Show all notes, not only ${own.note}`}>
          {own.note} <span aria-hidden="true">✕</span>
        </button>
      )}
      {isFiltered.value && (
        <button type="button" class="quiet" onClick={clearFilters}>
          Clear filters
        </button>
      )}
    </form>
  );
}

function TextFilter() {
  const [typed, setTyped] = useState(filters.value.text);
  const timer = useRef(0);
  const given = filters.value.text;
  useEffect(() => setTyped(given), [given]);
  return (
    <input
      id="review-text"
      type="search"
      aria-label="Text in suggestions"
      placeholder="Text in suggestions"
      autocomplete="off"
      spellcheck={false}
      value={typed}
      onInput={(event) => {
        const text = event.currentTarget.value;
        setTyped(text);
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => setFilter("text", text), TYPED);
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") event.currentTarget.blur();
      }}
    />
  );
}

interface ChoiceProperties {
  name: "author" | "folder" | "age";
  label: string;
  all: string;
  options: [value: string, name: string][];
}

function Choice({ name, label, all, options }: ChoiceProperties) {
  const value = filters.value[name];
  const shown = value && !options.some(([one]) => one === value) ? [...options, [value, value] as [string, string]] : options;
  return (
    <select aria-label={label} value={value} onChange={(event) => setFilter(name, event.currentTarget.value)}>
      <option value="">{all}</option>
      {shown.map(([one, text]) => (
        <option key={one} value={one}>
          {text}
        </option>
      ))}
    </select>
  );
}

function authors(): [string, string][] {
  return (summary.value?.authors ?? []).map(({ author, count }) => [author, `${author} (${count.toLocaleString("en")})`]);
}

/** The folders of notes with suggestions, and how many wait in each. */
function folders(): [string, string][] {
  const counts = new Map<string, number>();
  for (const { note, count } of summary.value?.notes ?? []) {
    const names = note.split("/").slice(0, -1);
    for (let depth = 1; depth <= names.length; depth++) {
      const folder = names.slice(0, depth).join("/");
      counts.set(folder, (counts.get(folder) ?? 0) + count);
    }
  }
  return [...counts].sort(([one], [other]) => (one < other ? -1 : 1)).map(([folder, count]) => [folder, `${folder} (${count.toLocaleString("en")})`]);
}
