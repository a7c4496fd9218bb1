// The notes as a tree of folders, beside every page.
//
// One stop of the Tab key; arrow keys move inside (the tree pattern of WAI-ARIA). Only the rows near the
// window are in the page, so that a folder may hold any number of notes.

import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { inUrl } from "./api";
import type { NoteRow } from "./notes";
import { useNotes } from "./notes";
import { navigate, place } from "./router";
import { visible, visibleText } from "./visible";

interface Folder {
  path: string;
  name: string;
  folders: Map<string, Folder>;
  notes: NoteRow[];
  pending: number;
  isSorted: boolean;
}

interface Row {
  /** The path, with a slash at its end for a folder. */
  id: string;
  name: string;
  level: number;
  position: number;
  siblings: number;
  pending: number;
  folder: Folder | null;
}

const ROW_PIXELS = 30;
const BEYOND = 8; // rows above and below the window that are in the page too
const REMEMBERED = "flashgrep.folders";
const MOST_REMEMBERED = 500;
const MOST_SORTED = 3000; // as people count; beyond, the server's order by bytes has to do

const open = signal<ReadonlySet<string>>(new Set(remembered()));

function remembered(): string[] {
  try {
    const held: unknown = JSON.parse(localStorage.getItem(REMEMBERED) ?? "[]");
    return Array.isArray(held) ? held.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

function setOpen(paths: ReadonlySet<string>): void {
  open.value = paths;
  try {
    localStorage.setItem(REMEMBERED, JSON.stringify([...paths].slice(-MOST_REMEMBERED)));
  } catch {
    // Storage is switched off: the folders are open until the page is left.
  }
}

function toggle(path: string): void {
  const changed = new Set(open.value);
  if (!changed.delete(path)) changed.add(path);
  setOpen(changed);
}

/** Open the folders above a note. */
function openTo(note: string): void {
  const changed = new Set(open.value);
  for (let at = note.indexOf("/"); at > 0; at = note.indexOf("/", at + 1)) changed.add(note.slice(0, at));
  if (changed.size !== open.value.size) setOpen(changed);
}

function emptyFolder(path: string): Folder {
  return { path, name: path.slice(path.lastIndexOf("/") + 1), folders: new Map(), notes: [], pending: 0, isSorted: false };
}

function build(rows: readonly NoteRow[]): Folder {
  const top = emptyFolder("");
  for (const row of rows) {
    const names = row.path.split("/").slice(0, -1);
    let folder = top;
    folder.pending += row.pending;
    for (const name of names) {
      let below = folder.folders.get(name);
      if (!below) {
        below = emptyFolder(folder.path ? `${folder.path}/${name}` : name);
        folder.folders.set(name, below);
      }
      folder = below;
      folder.pending += row.pending;
    }
    folder.notes.push(row);
  }
  return top;
}

const compare = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" }).compare;

function sort(folder: Folder): void {
  if (folder.isSorted) return;
  folder.isSorted = true;
  folder.folders = new Map([...folder.folders].sort(([one], [other]) => compare(one, other)));
  if (folder.notes.length <= MOST_SORTED) folder.notes.sort((one, other) => compare(one.path, other.path));
}

/** The rows of what is open, in the order they are shown. */
function rowsOf(top: Folder, isOpen: ReadonlySet<string>): Row[] {
  const rows: Row[] = [];
  const add = (folder: Folder, level: number) => {
    sort(folder);
    const siblings = folder.folders.size + folder.notes.length;
    let position = 0;
    for (const below of folder.folders.values()) {
      position++;
      rows.push({ id: `${below.path}/`, name: below.name, level, position, siblings, pending: below.pending, folder: below });
      if (isOpen.has(below.path)) add(below, level + 1);
    }
    for (const note of folder.notes) {
      position++;
      rows.push({ id: note.path, name: noteName(note.path), level, position, siblings, pending: note.pending, folder: null });
    }
  };
  add(top, 1);
  return rows;
}

export function NoteTree() {
  const list = useNotes();
  const top = useMemo(() => (list ? build(list) : null), [list]);
  if (!list || !top) return <p class="muted">Loading the notes…</p>;
  if (!list.length) return <p class="muted">There are no notes yet.</p>;
  return (
    <nav aria-label="Notes">
      <Tree top={top} />
    </nav>
  );
}

function Tree({ top }: { top: Folder }) {
  const tree = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const [active, draw] = useState("");
  /** The same, also between a key and the drawing after it: the next key may come sooner. */
  const latest = useRef("");
  const setActive = (id: string) => {
    latest.current = id;
    draw(id);
  };
  const shown = place.value.path.startsWith("/notes/") ? place.value.path.slice("/notes/".length) : "";
  const drawn = open.value;
  const rows = useMemo(() => rowsOf(top, drawn), [top, drawn]);
  const at = placeOf(rows, active);
  const box = () => tree.current?.closest<HTMLElement>(".side") ?? null;

  useEffect(() => {
    const side = box();
    if (!side) return undefined;
    let frame = 0;
    const look = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        redraw((number) => number + 1);
      });
    };
    side.addEventListener("scroll", look, { passive: true });
    const sized = new ResizeObserver(look);
    sized.observe(side);
    return () => {
      side.removeEventListener("scroll", look);
      sized.disconnect();
      cancelAnimationFrame(frame);
    };
  }, []);

  useEffect(() => {
    if (!shown) return;
    openTo(shown);
    setActive(shown);
  }, [shown]);
  useLayoutEffect(() => {
    if (active) reveal(at);
  }, [active]);

  /** What is in the box above the tree, in pixels. */
  const side = box();
  const above = side && tree.current ? tree.current.getBoundingClientRect().top - side.getBoundingClientRect().top + side.scrollTop : 0;

  /** Scroll the tree, and nothing else, so that a row is seen. */
  const reveal = (number: number) => {
    if (!side) return;
    const start = above + number * ROW_PIXELS;
    if (start < side.scrollTop) side.scrollTop = start - ROW_PIXELS;
    else if (start + ROW_PIXELS > side.scrollTop + side.clientHeight) side.scrollTop = start + 2 * ROW_PIXELS - side.clientHeight;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const now = open.value === drawn ? rows : rowsOf(top, open.value);
    const at = placeOf(now, latest.current);
    const row = now[at];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const isOpen = row.folder !== null && open.value.has(row.folder.path);
    const page = Math.max(Math.floor((box()?.clientHeight ?? 300) / ROW_PIXELS) - 1, 1);
    const go = (number: number) => setActive(now[Math.min(Math.max(number, 0), now.length - 1)]!.id);
    const does: Record<string, () => void> = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      ArrowRight: () => (row.folder && !isOpen ? toggle(row.folder.path) : row.folder && go(at + 1)),
      ArrowLeft: () => (row.folder && isOpen ? toggle(row.folder.path) : go(parentOf(now, at))),
      Home: () => go(0),
      End: () => go(now.length - 1),
      PageDown: () => go(at + page),
      PageUp: () => go(at - page),
      Enter: () => choose(row),
      " ": () => choose(row),
    };
    const run = does[event.key];
    if (!run) return;
    event.preventDefault();
    setActive(row.id);
    run();
  };

  const start = side ? Math.floor((side.scrollTop - above) / ROW_PIXELS) : 0;
  const first = Math.max(start - BEYOND, 0);
  const last = Math.min(first + Math.ceil((side?.clientHeight || innerHeight) / ROW_PIXELS) + 2 * BEYOND, rows.length);
  const isDrawn = at >= first && at < last;
  return (
    <div
      ref={tree}
      role="tree"
      aria-label="Notes"
      class="tree"
      tabIndex={0}
      aria-activedescendant={isDrawn ? `tree-${at}` : undefined}
      style={{ height: `${rows.length * ROW_PIXELS}px` }}
      onKeyDown={onKeyDown}
      onFocus={() => {
        if (!active && rows[0]) setActive(rows[0].id);
        else reveal(at);
      }}
    >
      {rows.slice(first, last).map((row, number) => (
        <Item
          key={row.id}
          row={row}
          at={first + number}
          isOpen={row.folder !== null && open.value.has(row.folder.path)}
          isActive={first + number === at && active !== ""}
          isShown={row.folder === null && row.id === shown}
          onActive={() => setActive(row.id)}
        />
      ))}
    </div>
  );
}

/** Where a row is; the first place for one that is not there. */
function placeOf(rows: readonly Row[], id: string): number {
  return Math.max(
    rows.findIndex((row) => row.id === id),
    0,
  );
}

function choose(row: Row): void {
  if (row.folder) toggle(row.folder.path);
  else navigate(`/notes/${inUrl(row.id)}`);
}

/** The row of the folder that a row is in. */
function parentOf(rows: readonly Row[], at: number): number {
  const level = rows[at]!.level;
  for (let one = at - 1; one >= 0; one--) {
    if (rows[one]!.level < level) return one;
  }
  return at;
}

interface ItemProperties {
  row: Row;
  at: number;
  isOpen: boolean;
  isActive: boolean;
  isShown: boolean;
  onActive: () => void;
}

function Item({ row, at, isOpen, isActive, isShown, onActive }: ItemProperties) {
  const shared = {
    id: `tree-${at}`,
    role: "treeitem" as const,
    "aria-level": row.level,
    "aria-setsize": row.siblings,
    "aria-posinset": row.position,
    class: `${row.folder ? "tree-folder" : "tree-note"}${isActive ? " active" : ""}`,
    title: visibleText(row.id),
    style: { top: `${at * ROW_PIXELS}px`, paddingLeft: `${(row.level - 1) * 14 + 6}px` },
  };
  if (row.folder) {
    const path = row.folder.path;
    return (
      <div
        {...shared}
        aria-expanded={isOpen}
        onClick={() => {
          onActive();
          toggle(path);
        }}
      >
        <span class="tree-arrow" aria-hidden="true">
          {isOpen ? "▾" : "▸"}
        </span>
        <bdi class="tree-name">{visible(row.name)}</bdi>
        <Count of={row.pending} />
      </div>
    );
  }
  return (
    <a {...shared} href={`/notes/${inUrl(row.id)}`} tabIndex={-1} aria-current={isShown ? "page" : undefined} aria-selected={isShown}>
      <span class="tree-arrow" aria-hidden="true" />
      <bdi class="tree-name">{visible(row.name)}</bdi>
      <Count of={row.pending} />
    </a>
  );
}

function Count({ of }: { of: number }) {
  return of ? (
    <span class="badge">
      {of.toLocaleString("en")}
      <span class="visually-hidden"> pending</span>
    </span>
  ) : null;
}

export function noteName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\.md$/i, "");
}
