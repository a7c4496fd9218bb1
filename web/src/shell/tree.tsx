// The notes as a tree of folders, beside every page.

import { signal } from "@preact/signals";
import type { NoteRow } from "./notes";
import { inUrl } from "./api";
import { useNotes } from "./notes";
import { place } from "./router";

interface Folder {
  path: string;
  folders: Map<string, Folder>;
  notes: NoteRow[];
  pending: number;
}

const REMEMBERED = "flashgrep.folders";
const open = signal<ReadonlySet<string>>(new Set(remembered()));

function remembered(): string[] {
  try {
    const held: unknown = JSON.parse(localStorage.getItem(REMEMBERED) ?? "[]");
    return Array.isArray(held) ? held.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

function toggle(path: string): void {
  const changed = new Set(open.value);
  if (!changed.delete(path)) changed.add(path);
  open.value = changed;
  localStorage.setItem(REMEMBERED, JSON.stringify([...changed].slice(-500)));
}

function build(rows: readonly NoteRow[]): Folder {
  const top: Folder = { path: "", folders: new Map(), notes: [], pending: 0 };
  for (const row of rows) {
    const names = row.path.split("/").slice(0, -1);
    let folder = top;
    folder.pending += row.pending;
    for (const name of names) {
      const path = folder.path ? `${folder.path}/${name}` : name;
      let below = folder.folders.get(name);
      if (!below) {
        below = { path, folders: new Map(), notes: [], pending: 0 };
        folder.folders.set(name, below);
      }
      folder = below;
      folder.pending += row.pending;
    }
    folder.notes.push(row);
  }
  return top;
}

let built: { rows: readonly NoteRow[]; top: Folder } | null = null;

export function NoteTree() {
  const rows = useNotes();
  if (!rows) return <p class="muted">Loading the notes…</p>;
  if (!rows.length) return <p class="muted">There are no notes yet.</p>;
  if (built?.rows !== rows) built = { rows, top: build(rows) };
  const shown = place.value.path.startsWith("/notes/") ? place.value.path.slice("/notes/".length) : "";
  return (
    <nav aria-label="Notes" class="tree">
      <Level folder={built.top} shown={shown} />
    </nav>
  );
}

const compare = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" }).compare;

function Level({ folder, shown }: { folder: Folder; shown: string }) {
  const folders = [...folder.folders].sort(([one], [other]) => compare(one, other));
  const notes = [...folder.notes].sort((one, other) => compare(one.path, other.path));
  return (
    <ul>
      {folders.map(([name, below]) => {
        const isOpen = open.value.has(below.path) || shown.startsWith(`${below.path}/`);
        return (
          <li key={below.path}>
            <button type="button" class="tree-folder" aria-expanded={isOpen} onClick={() => toggle(below.path)}>
              <span class="tree-arrow" aria-hidden="true">
                {isOpen ? "▾" : "▸"}
              </span>
              <span class="tree-name">{name}</span>
              <Count of={below.pending} />
            </button>
            {isOpen && <Level folder={below} shown={shown} />}
          </li>
        );
      })}
      {notes.map((row) => (
        <li key={row.path}>
          <a class="tree-note" href={`/notes/${inUrl(row.path)}`} aria-current={row.path === shown ? "page" : undefined}>
            <span class="tree-name">{noteName(row.path)}</span>
            <Count of={row.pending} />
          </a>
        </li>
      ))}
    </ul>
  );
}

function Count({ of }: { of: number }) {
  return of ? (
    <span class="badge" title={`${of} pending`}>
      {of}
    </span>
  ) : null;
}

export function noteName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\.md$/i, "");
}
