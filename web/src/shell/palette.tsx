// Ctrl-K: go to a note, a file or a page by a few of its letters.

import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { inUrl, isAbort, post } from "./api";
import { Dialog } from "./dialog";
import { ranked } from "./fuzzy";
import { useNotes } from "./notes";
import { navigate } from "./router";
import { session } from "./session";

const isOpen = signal(false);
const MOST = 30;

export function openPalette(): void {
  isOpen.value = true;
}

interface Choice {
  kind: "page" | "note" | "file";
  text: string;
  at: number[];
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

function Opened() {
  const [wanted, setWanted] = useState("");
  const [chosen, setChosen] = useState(0);
  const [files, setFiles] = useState<string[]>([]);
  const notes = useNotes();
  const field = useRef<HTMLInputElement>(null);

  useEffect(() => field.current?.focus(), []);
  useEffect(() => {
    setChosen(0);
    if (!session.value?.workspace || !wanted.trim()) {
      setFiles([]);
      return undefined;
    }
    const ending = new AbortController();
    post<{ files: string[] }>("/api/files", { text: wanted, limit: MOST }, { signal: ending.signal })
      .then((answer) => setFiles(answer.files))
      .catch((error: unknown) => {
        if (!isAbort(error)) setFiles([]);
      });
    return () => ending.abort();
  }, [wanted]);

  const choices: Choice[] = [
    ...ranked(wanted, (notes ?? []).map((one) => one.path), MOST).map(
      (found): Choice => ({ kind: "note", text: found.text, at: found.at, address: `/notes/${inUrl(found.text)}` }),
    ),
    ...files.map((path): Choice => ({ kind: "file", text: path, at: [], address: `/file/${inUrl(path)}` })),
    ...PAGES.flatMap((page): Choice[] => {
      const found = ranked(wanted, [page.text], 1)[0];
      return found ? [{ kind: "page", text: page.text, at: found.at, address: page.address }] : [];
    }),
  ];
  const last = choices.length - 1;

  const go = (choice: Choice | undefined) => {
    if (!choice) return;
    isOpen.value = false;
    navigate(choice.address);
  };
  return (
    <Dialog title="Go to" class="palette" onClose={() => (isOpen.value = false)}>
      <input
        ref={field}
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={choices.length ? `palette-${chosen}` : undefined}
        aria-label="Go to a note, file or page"
        placeholder="Letters of a note, file or page"
        autocomplete="off"
        spellcheck={false}
        value={wanted}
        onInput={(event) => setWanted(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setChosen(Math.min(chosen + 1, last));
          else if (event.key === "ArrowUp") setChosen(Math.max(chosen - 1, 0));
          else if (event.key === "Enter") go(choices[chosen]);
          else return;
          event.preventDefault();
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Places" class="palette-list">
        {choices.map((choice, number) => (
          <li
            key={choice.address}
            id={`palette-${number}`}
            role="option"
            aria-selected={number === chosen}
            onMouseMove={() => setChosen(number)}
            onClick={() => go(choice)}
            ref={(element) => {
              if (element && number === chosen) element.scrollIntoView({ block: "nearest" });
            }}
          >
            <span class="palette-kind">{choice.kind}</span>
            <Marked text={choice.text} at={choice.at} />
          </li>
        ))}
      </ul>
      {choices.length === 0 && <p class="muted">Nothing has these letters.</p>}
    </Dialog>
  );
}

function Marked({ text, at }: { text: string; at: number[] }) {
  const marked = new Set(at);
  return (
    <span class="palette-text">
      {[...text].map((letter, number) => (marked.has(number) ? <b key={number}>{letter}</b> : letter))}
    </span>
  );
}
