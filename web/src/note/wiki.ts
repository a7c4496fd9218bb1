// Links between notes, as Obsidian writes them: [[Name]], [[Folder/Name|shown]], [[Name#Heading]].

import type { Completion, CompletionResult } from "@codemirror/autocomplete";
import { CompletionContext, completionStatus, pickedCompletion } from "@codemirror/autocomplete";
import type { EditorState } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { inUrl } from "../shell/api";
import { ranked } from "../shell/fuzzy";
import type { NoteRow } from "../shell/notes";
import { notes } from "../shell/notes";

const MOST = 40;

export interface WikiLink {
  from: number;
  to: number;
  target: string;
  shown: string;
}

export const WIKILINK = /!?\[\[([^[\]\n|]{1,400})(?:\\?\|([^[\]\n]{1,400}))?\]\]/g;

export function linksIn(text: string): WikiLink[] {
  return [...text.matchAll(WIKILINK)].map((found) => ({
    from: found.index,
    to: found.index + found[0].length,
    target: found[1]!.trim(),
    shown: (found[2] ?? found[1]!).trim(),
  }));
}

// ── names ────────────────────────────────────────────────────────────────────────────────────

interface Names {
  rows: readonly NoteRow[];
  byPath: Map<string, string>;
  byName: Map<string, string[]>;
}

let known: Names | null = null;

function key(path: string): string {
  return path.normalize("NFC").toLowerCase().replace(/\.md$/, "");
}

function names(): Names {
  const rows = notes.peek() ?? [];
  if (known?.rows === rows) return known;
  const byPath = new Map<string, string>();
  const byName = new Map<string, string[]>();
  for (const { path } of rows) {
    const own = key(path);
    byPath.set(own, path);
    const name = own.slice(own.lastIndexOf("/") + 1);
    const same = byName.get(name);
    if (same) same.push(path);
    else byName.set(name, [path]);
  }
  known = { rows, byPath, byName };
  return known;
}

/** Wait until the list of notes is there: without it no link leads anywhere. */
export function knowingNotes(): Promise<void> {
  return new Promise((go) => {
    const stop = notes.subscribe((rows) => {
      if (rows === null) return;
      go();
      queueMicrotask(() => stop());
    });
  });
}

/** The note that a link's target means from a note; null where there is none. */
export function resolve(target: string, from: string): string | null {
  const plain = target.split("#")[0]!.split("^")[0]!.trim();
  if (!plain) return from;
  const { byPath, byName } = names();
  if (plain.startsWith("/")) return byPath.get(key(plain.slice(1))) ?? null;
  const folder = from.includes("/") ? from.slice(0, from.lastIndexOf("/") + 1) : "";
  if (/^\.\.?\//.test(plain)) return byPath.get(key(joined(folder, plain))) ?? null;
  const wanted = key(plain);
  const exact = byPath.get(wanted);
  if (exact) return exact;
  const same = (byName.get(wanted.slice(wanted.lastIndexOf("/") + 1)) ?? []).filter(
    (path) => key(path) === wanted || key(path).endsWith(`/${wanted}`),
  );
  const near = same.filter((path) => path.startsWith(folder));
  const choice = near.length ? near : same;
  return choice.sort((one, other) => one.length - other.length || (one < other ? -1 : 1))[0] ?? null;
}

export function joined(folder: string, path: string): string {
  const parts = folder.split("/").filter(Boolean);
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part && part !== ".") parts.push(part);
  }
  return parts.join("/");
}

/** The shortest name that means this note alone. */
export function shortName(path: string): string {
  const plain = path.replace(/\.md$/i, "");
  const name = plain.slice(plain.lastIndexOf("/") + 1);
  const same = names().byName.get(key(name)) ?? [];
  return same.length <= 1 ? name : plain;
}

// ── completion ───────────────────────────────────────────────────────────────────────────────

export function completeLinks(context: CompletionContext): CompletionResult | null {
  const before = context.matchBefore(/\[\[[^[\]\n|#]{0,200}$/);
  if (!before) return null;
  const rows = notes.peek() ?? [];
  const wanted = before.text.slice(2);
  const options = ranked(
    wanted,
    rows.map((row) => row.path),
    MOST,
  ).map((found): Completion => {
    const name = shortName(found.text);
    return { label: name, ...(name === found.text.replace(/\.md$/i, "") ? {} : { detail: found.text }), apply };
  });
  // Asked again at once for every letter: a list that follows later is out of use in between.
  return { from: before.from + 2, options, filter: false, update: (_result, _from, _to, now) => completeLinks(now) };
}

/** Take the first note for the link being typed, where its list has been asked for and is still to come. */
export function takeLink(view: EditorView): boolean {
  if (view.state.readOnly || completionStatus(view.state) !== "pending") return false;
  const { head } = view.state.selection.main;
  const found = completeLinks(new CompletionContext(view.state, head, false));
  const [first] = found?.options ?? [];
  if (!found || !first || found.from === head) return false;
  apply(view, first, found.from, head);
  return true;
}

function apply(view: EditorView, completion: Completion, from: number, to: number): void {
  const after = view.state.sliceDoc(to, to + 2);
  const isClosed = after === "]]";
  const insert = `${completion.label}${isClosed ? "" : "]]"}`;
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor: from + completion.label.length + 2 },
    annotations: pickedCompletion.of(completion),
    userEvent: "input.complete",
  });
}

// ── the link at a place ──────────────────────────────────────────────────────────────────────

export interface Aim {
  /** A note's name, or… */
  target: string | null;
  /** …an address. */
  address: string | null;
  /** Whether the name is a path from the folder of the note that has the link. */
  isRelative: boolean;
}

/** The page of a note; what follows a # in a link's target is the heading to begin at. */
export function addressOf(note: string, target = ""): string {
  const [, heading] = /#([^#^]+)$/.exec(target) ?? [];
  return `/notes/${inUrl(note)}${heading ? `?heading=${encodeURIComponent(heading.trim())}` : ""}`;
}

/** The note that an aim means; null where there is none. */
export function noteOf(aim: Aim, from: string): string | null {
  if (aim.target === null) return null;
  return (aim.isRelative ? resolve(`./${aim.target}`, from) : null) ?? resolve(aim.target, from);
}

const MARKDOWN_LINK = /\[[^[\]\n]{0,1000}\]\(\s*<?([^\s()<>]{1,2000})>?[^()\n]{0,200}\)/g;
const BARE = /https?:\/\/[^\s<>()[\]"']{1,2000}/g;

export function linkAt(state: EditorState, at: number): Aim | null {
  const line = state.doc.lineAt(at);
  const text = line.text.slice(0, 20_000);
  const place = at - line.from;
  for (const link of linksIn(text)) if (link.from <= place && place <= link.to) return { target: link.target, address: null, isRelative: false };
  for (const found of text.matchAll(MARKDOWN_LINK)) {
    if (found.index <= place && place <= found.index + found[0].length) return aimed(found[1]!);
  }
  for (const found of text.matchAll(BARE)) {
    if (found.index <= place && place <= found.index + found[0].length) return aimed(found[0]);
  }
  return null;
}

/** What an address in a note aims at; null for one that is not to be followed. */
export function aimed(address: string): Aim | null {
  if (/^(https?:|mailto:)/i.test(address)) return { target: null, address, isRelative: false };
  if (/^[a-z][a-z0-9+.-]*:/i.test(address) || address.startsWith("//")) return null;
  let target = address;
  try {
    target = decodeURIComponent(address);
  } catch {
    // Not escaped, then.
  }
  return { target, address: null, isRelative: !target.startsWith("/") };
}
