// Ctrl-K: go to a note, a file or a page by a few of its letters; "view.py:120" goes to a line.

import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { inUrl, isAbort, post } from "./api";
import { Dialog } from "./dialog";
import type { Found } from "./fuzzy";
import { Finder, fuzzy, ranked } from "./fuzzy";
import type { NoteRow } from "./notes";
import { useNotes } from "./notes";
import { recent } from "./recent";
import { navigate } from "./router";
import { session } from "./session";
import { visible } from "./visible";

const isOpen = signal(false);
const MOST_NOTES = 20;
const MOST_FILES = 20;
const FILES_PAUSE_MILLISECONDS = 60;
const PATIENCE_MILLISECONDS = 2000; // of somebody who has pressed Enter

export function openPalette(): void {
  isOpen.value = true;
}

interface Choice {
  kind: "page" | "note" | "file" | "search";
  text: string;
  at: readonly number[];
  address: string;
}

const PAGES = [
  { text: "Search", address: "/" },
  { text: "Review", address: "/review" },
  { text: "Notes", address: "/notes" },
  { text: "Status", address: "/status" },
];

export function Palette() {
  return isOpen.value ? <Opened /> : null;
}

let prepared: { rows: readonly NoteRow[]; finder: Finder } | null = null;

function finderOf(rows: readonly NoteRow[]): Finder {
  if (prepared?.rows !== rows) prepared = { rows, finder: new Finder(rows.map((row) => row.path)) };
  return prepared.finder;
}

/** What was found, and for which letters: it follows what is typed. */
interface FoundFor<T> {
  wanted: string;
  list: readonly T[];
}

/** Notes with these letters; those of the letters before stay until the search is done. */
function useFoundNotes(wanted: string): FoundFor<Found> {
  const rows = useNotes();
  const [found, setFound] = useState<FoundFor<Found>>({ wanted: "", list: [] });
  const hasNotes = session.value?.notes;
  useEffect(() => {
    if (!wanted || !rows) {
      setFound({ wanted: hasNotes ? "" : wanted, list: [] });
      return undefined;
    }
    const ending = new AbortController();
    void finderOf(rows)
      .find(wanted, MOST_NOTES, ending.signal)
      .then((list) => {
        if (list && !ending.signal.aborted) setFound({ wanted, list });
      });
    return () => ending.abort();
  }, [wanted, rows, hasNotes]);
  return found;
}

/** Files with these letters, which the server ranks. */
function useFoundFiles(wanted: string): FoundFor<string> {
  const [files, setFiles] = useState<FoundFor<string>>({ wanted: "", list: [] });
  useEffect(() => {
    if (!session.value?.workspace || !wanted) {
      setFiles({ wanted, list: [] });
      return undefined;
    }
    const ending = new AbortController();
    const timer = setTimeout(() => {
      post<{ files: string[] }>("/api/files", { text: wanted, limit: MOST_FILES }, { signal: ending.signal })
        .then((answer) => setFiles({ wanted, list: answer.files }))
        .catch((error: unknown) => {
          if (!isAbort(error)) setFiles({ wanted, list: [] });
        });
    }, FILES_PAUSE_MILLISECONDS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [wanted]);
  return files;
}

function Opened() {
  const [typed, setTyped] = useState("");
  const [chosen, setChosen] = useState(0);
  const { wanted, line } = parted(typed);
  const notes = useFoundNotes(wanted);
  const files = useFoundFiles(wanted);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => setChosen(0), [typed]);

  const choices = useMemo(() => choicesOf(typed, wanted, line, notes.list, files.list), [typed, notes, files]);
  const last = choices.length - 1;
  const current = Math.min(chosen, last);

  const go = (choice: Choice | undefined, isNewTab = false) => {
    if (!choice) return;
    isOpen.value = false;
    if (isNewTab) window.open(choice.address, "_blank", "noopener");
    else navigate(choice.address);
  };
  // Who types faster than the list follows means what the letters find, not what stands there yet.
  const entered = useRef<{ typed: string; isNewTab: boolean } | null>(null);
  const latest = useRef(choices);
  latest.current = choices;
  const follows = !wanted || (notes.wanted === wanted && files.wanted === wanted);
  const enter = (isNewTab: boolean) => {
    if (follows || chosen > 0) go(choices[current], isNewTab);
    else {
      const waiting = (entered.current = { typed, isNewTab });
      setTimeout(() => isOpen.value && entered.current === waiting && go(latest.current[0], isNewTab), PATIENCE_MILLISECONDS);
    }
  };
  useEffect(() => {
    const waiting = entered.current;
    if (!waiting || !(follows || waiting.typed !== typed)) return;
    entered.current = null;
    if (waiting.typed === typed) go(choices[0], waiting.isNewTab);
  }, [typed, follows]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const isControl = event.ctrlKey && !event.shiftKey && !event.altKey;
    if (event.key === "ArrowDown" || (isControl && event.key === "n")) setChosen(current >= last ? 0 : current + 1);
    else if (event.key === "ArrowUp" || (isControl && event.key === "p")) setChosen(current <= 0 ? last : current - 1);
    else if (event.key === "PageDown") setChosen(Math.min(current + 8, last));
    else if (event.key === "PageUp") setChosen(Math.max(current - 8, 0));
    else if (event.key === "Enter") enter(event.ctrlKey || event.metaKey);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" class="palette" onClose={() => (isOpen.value = false)}>
      <input
        ref={field}
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-autocomplete="list"
        aria-controls="palette-list"
        aria-activedescendant={choices.length ? `palette-${current}` : undefined}
        aria-label="Go to a note, file or page"
        placeholder={session.value?.workspace ? "Letters of a note, file or page; name:120 for a line" : "Letters of a note or page"}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <ul id="palette-list" role="listbox" aria-label="Places" class="palette-list">
        {choices.map((choice, number) => (
          <li
            key={`${choice.kind} ${choice.address}`}
            id={`palette-${number}`}
            role="option"
            aria-selected={number === current}
            onMouseMove={() => setChosen(number)}
            onClick={(event) => go(choice, event.ctrlKey || event.metaKey)}
            ref={(element) => {
              if (element && number === current) element.scrollIntoView({ block: "nearest" });
            }}
          >
            <span class="palette-kind">{choice.kind}</span>
            <Marked text={choice.text} at={choice.at} />
          </li>
        ))}
      </ul>
      <p class="palette-keys muted" aria-hidden="true">
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> choose
        </span>
        <span>
          <kbd>Enter</kbd> open
        </span>
        <span>
          <kbd>Ctrl</kbd> <kbd>Enter</kbd> in a new tab
        </span>
        <span>
          <kbd>Esc</kbd> close
        </span>
      </p>
    </Dialog>
  );
}

/** The letters, and the line after a colon at their end. */
function parted(typed: string): { wanted: string; line: string } {
  const parts = /^(.*?):(\d{0,9})$/.exec(typed.trim());
  return parts ? { wanted: parts[1]!.trim(), line: parts[2]! } : { wanted: typed.trim(), line: "" };
}

function choicesOf(typed: string, wanted: string, line: string, notes: readonly Found[], files: readonly string[]): Choice[] {
  const hash = line ? `#L${line}` : "";
  const note = (found: Found): Choice => ({ kind: "note", text: found.text, at: found.at, address: `/notes/${inUrl(found.text)}` });
  const file = (path: string): Choice => ({
    kind: "file",
    text: path,
    at: wanted ? (fuzzy(wanted, path)?.at ?? []) : [],
    address: `/file/${inUrl(path)}${hash}`,
  });
  const pages = PAGES.flatMap((page): Choice[] => {
    const found = ranked(wanted, [page.text], 1)[0];
    return found ? [{ kind: "page", text: page.text, at: found.at, address: page.address }] : [];
  });
  if (!wanted) {
    const opened = recent().filter((one) => (one.kind === "note" ? session.value?.notes : session.value?.workspace));
    return [...opened.map((one) => (one.kind === "note" ? note({ text: one.path, at: [], score: 0 }) : file(one.path))), ...pages];
  }
  const isPage = pages.some((page) => page.text.toLowerCase().startsWith(wanted.toLowerCase()));
  const places = [...notes.map(note), ...files.map(file)];
  const search: Choice = {
    kind: "search",
    text: typed.trim(),
    at: [],
    address: `/?${new URLSearchParams({ q: typed.trim() }).toString()}`,
  };
  return [...(isPage ? pages : []), ...places, ...(isPage ? [] : pages), search];
}

/** A path with the letters that matched in bold, in as few elements as that takes. */
function Marked({ text, at }: { text: string; at: readonly number[] }) {
  const parts = [];
  let done = 0;
  for (let number = 0; number < at.length; number++) {
    const start = at[number]!;
    let end = start + 1;
    while (at[number + 1] === end) {
      end++;
      number++;
    }
    if (start > done) parts.push(visible(text.slice(done, start)));
    parts.push(<b>{visible(text.slice(start, end))}</b>);
    done = end;
  }
  parts.push(visible(text.slice(done)));
  return <bdi class="palette-text">{parts}</bdi>;
}
