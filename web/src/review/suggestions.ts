// The pending suggestions, as the server lists them, kept up by its events.
//
// The first page is shown at once, the rest is loaded behind it. A note that changed is listed again,
// alone. What the person works on (a card that was just decided, or whose text is being edited) stays
// until `leave`, whatever the server lists.

import { computed, signal } from "@preact/signals";
import { get, isAbort, Refused, told } from "../shell/api";
import { hear } from "../shell/events";
import { asked } from "./filters";

export interface Reply {
  id: string;
  author: string;
  time: number;
  text: string;
}

export interface Comment extends Reply {
  note: string;
  line: number;
  suggestion: string | null;
  quote: string | null;
  replies: Reply[];
  resolved?: { by: string; time: number } | null;
}

export interface Suggestion {
  id: string;
  note: string;
  line: number;
  author: string;
  time: number;
  old: string;
  new: string;
  context: { before: string; after: string };
  /** Of `old` and `new`: a decision names it, and is for that proposal alone. */
  digest: string;
  comments?: Comment[];
}

export interface Group {
  note: string;
  suggestions: Suggestion[];
}

export interface Summary {
  total: number;
  authors: { author: string; count: number }[];
  notes: { note: string; count: number }[];
}

interface Page {
  suggestions: Suggestion[];
  next: string | null;
}

const FIRST_PAGE = 100;
const PAGE = 1000; // the most that the server gives at once
const MOST = 20_000; // in this browser; a decision on more is refused anyway
const MANY_NOTES = 20; // that changed together: then all is loaded again
const SOON = 250; // milliseconds
const LATER = 3000; // while a large decision changes one note after the other

/** Whether notes change so fast that listing them again each time would only slow them down. */
export const pace = { isSlow: false };

export const listed = signal<ReadonlyMap<string, Suggestion>>(new Map());
export const isLoading = signal(true);
export const isCut = signal(false);
export const failure = signal("");
export const summary = signal<Summary | null>(null);

/** Ids that must stay for now, and those that must not come back from an answer given before. */
export const kept = { has: (_: string): boolean => false };
export const decided = new Map<string, number>();

const order = new Map<string, number>();

export const groups = computed((): Group[] => {
  const found = new Map<string, Suggestion[]>();
  for (const one of listed.value.values()) {
    const own = found.get(one.note);
    if (own) own.push(one);
    else found.set(one.note, [one]);
  }
  for (const note of found.keys()) if (!order.has(note)) order.set(note, order.size);
  return [...found]
    .sort(([one], [other]) => order.get(one)! - order.get(other)!)
    .map(([note, suggestions]) => ({
      note,
      suggestions: suggestions.sort((one, other) => one.line - other.line || one.time - other.time),
    }));
});

// ── loading ──────────────────────────────────────────────────────────────────────────────────────

let ending: AbortController | null = null;

/** List everything anew; `fresh` forgets what is shown, as another question was asked. */
export async function load(fresh = false): Promise<void> {
  ending?.abort();
  const own = (ending = new AbortController());
  isLoading.value = true;
  failure.value = "";
  void loadSummary();
  const all = new Map<string, Suggestion>();
  const isFirst = fresh || listed.value.size === 0;
  try {
    let cursor: string | null = null;
    do {
      const page: Page = await listPage(asked.value, cursor, cursor ? PAGE : FIRST_PAGE, own.signal);
      for (const one of page.suggestions) add(all, one);
      cursor = page.next;
      if (isFirst) listed.value = withKept(all);
    } while (cursor && all.size < MOST);
    listed.value = withKept(all);
    isCut.value = cursor !== null;
  } catch (error) {
    if (isAbort(error)) return;
    failure.value = told(error);
  }
  if (ending === own) isLoading.value = false;
}

export function listPage(question: string, cursor: string | null, limit: number, signal?: AbortSignal): Promise<Page> {
  const query = new URLSearchParams(question);
  query.set("limit", String(limit));
  if (cursor) query.set("cursor", cursor);
  return get<Page>(`/kb/suggestions?${query}`, { signal });
}

/** The same object again where nothing changed: then nothing is drawn anew. */
function add(all: Map<string, Suggestion>, one: Suggestion): void {
  if (decided.has(one.id) && !kept.has(one.id)) return;
  const before = listed.value.get(one.id);
  all.set(one.id, before && JSON.stringify(before) === JSON.stringify(one) ? before : one);
}

function withKept(all: ReadonlyMap<string, Suggestion>, note?: string): Map<string, Suggestion> {
  const result = new Map<string, Suggestion>();
  for (const [id, one] of listed.value) {
    const stays = all.get(id) ?? (kept.has(id) || (note !== undefined && one.note !== note) ? one : undefined);
    if (stays) result.set(id, stays);
  }
  for (const [id, one] of all) if (!result.has(id)) result.set(id, one);
  return result;
}

let isCounting = false;

async function loadSummary(): Promise<void> {
  if (isCounting) return;
  isCounting = true;
  try {
    summary.value = await get<Summary>("/kb/suggestions/summary");
  } catch (error) {
    if (!(error instanceof Refused)) summary.value = null;
  } finally {
    isCounting = false;
  }
}

/** One suggestion as it is now. */
export function show(one: Suggestion): void {
  listed.value = new Map(listed.value).set(one.id, one);
}

// ── what leaves ──────────────────────────────────────────────────────────────────────────────────

export function leave(ids: Iterable<string>): void {
  const rest = new Map(listed.value);
  let count = 0;
  for (const id of ids) count += rest.delete(id) ? 1 : 0;
  if (count) listed.value = rest;
}

// ── live ─────────────────────────────────────────────────────────────────────────────────────────

const changed = new Set<string>();
let timer = 0;
let isCatchingUp = false;

/** List a note again soon, with others that change meanwhile. */
export function refresh(note: string): void {
  changed.add(note);
  later();
}

function later(): void {
  if (!timer && !isCatchingUp) timer = window.setTimeout(() => void catchUp(), pace.isSlow ? LATER : SOON);
}

async function catchUp(): Promise<void> {
  timer = 0;
  isCatchingUp = true;
  const notes = [...changed];
  changed.clear();
  try {
    if (notes.length > MANY_NOTES || isLoading.value) await load();
    else {
      for (const note of notes) await refreshNote(note);
      await loadSummary();
    }
  } catch (error) {
    if (!isAbort(error)) failure.value = told(error);
  } finally {
    isCatchingUp = false;
    if (changed.size) later();
  }
}

async function refreshNote(note: string): Promise<void> {
  const question = asked.value;
  const query = new URLSearchParams(question);
  const wanted = query.get("note");
  if (wanted && wanted !== note) return;
  query.set("note", note);
  const all = new Map<string, Suggestion>();
  let cursor: string | null = null;
  do {
    const page: Page = await listPage(query.toString(), cursor, PAGE);
    if (question !== asked.value) return; // another question is being answered
    for (const one of page.suggestions) add(all, one);
    cursor = page.next;
  } while (cursor);
  listed.value = withKept(all, note);
}

/** Hear of changes while the page is shown; gives the way to stop. */
export function follow(): () => void {
  const ends = [
    hear("changed", (event: { note: string }) => refresh(event.note)),
    hear("comment", (event: { note: string }) => refresh(event.note)),
    hear("note", (event: { note: string; from?: string | null }) => {
      refresh(event.note);
      if (event.from) refresh(event.from);
    }),
    hear("reload", () => void load()),
  ];
  return () => ends.forEach((end) => end());
}
