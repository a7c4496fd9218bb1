// The answers to what is asked, as one types: a request for each pause, the newest alone counts.

import { effect, signal, untracked } from "@preact/signals";
import { isAbort, isSignedOut, post, Refused, told } from "../shell/api";
import { place } from "../shell/router";
import { session } from "../shell/session";
import type { Question } from "./question";
import { filters, question } from "./question";

export interface FoundLine {
  line: number;
  text: string;
  match: boolean;
  spans: [number, number][];
  /** Where the text begins in a line that is cut. */
  column?: number;
}

export interface FoundFile {
  path: string;
  lines: FoundLine[];
}

interface SearchAnswer {
  files: FoundFile[];
  shown: number;
  next_offset: number | null;
  /** What the paths are relative to. */
  root: string;
  milliseconds: number;
  files_looked_at: number | null;
  index: { state: string; freshness: string | null; progress?: number };
  skipped: [string, string][];
  message: string | null;
}

export interface Passage {
  file_path: string;
  start_line: number;
  end_line: number;
  score: number;
  symbol: string | null;
  preview: string;
}

export interface QueryAnswer {
  results: Passage[];
  total: number | null;
  next_offset: number | null;
  milliseconds: number;
}

export interface SymbolAnswer {
  symbol_name: string;
  definitions: { file_path: string; line: number; kind: string; signature: string }[];
  references: { file_path: string; line: number; text: string }[];
  total: number | null;
  next_offset: number | null;
  milliseconds: number;
}

/** What is shown: the last good answer, and what it answers. */
export type Shown =
  | { kind: "search"; asked: Question; answer: SearchAnswer }
  | { kind: "query"; asked: Question; answer: QueryAnswer }
  | { kind: "symbol"; asked: Question; answer: SymbolAnswer };

export interface Count {
  files: number;
  matches: number;
}

export const shown = signal<Shown | null>(null);
/** A newer question than the one answered is under way. */
export const isWaiting = signal(false);
export const isLoadingMore = signal(false);
/** Why the newest question has no answer. */
export const failure = signal<{ text: string; isPattern: boolean } | null>(null);
export const count = signal<Count | "counting" | "stopped" | null>(null);
/** Of a search that found nothing: what the same finds in the notes, or in the workspace. */
export const elsewhere = signal<Count | null>(null);

const PAUSE_MILLISECONDS = 40;
const COUNT_PAUSE_MILLISECONDS = 150; // a count may look at every file: not for each letter
const FIRST_PAGE = 250;
const NEXT_PAGE = 1000;
const RANKED_PAGE = 30;

let timer = 0;
let countTimer = 0;
let ending = new AbortController();
let answered = ""; // the question of `shown`, or of `failure`

effect(() => {
  const asked = question.value;
  if (place.value.path !== "/") return;
  untracked(() => begin(asked));
});

// Whoever has signed in again finds the answer to what they typed meanwhile.
let wasSignedOut = false;
effect(() => {
  const isBack = wasSignedOut && !isSignedOut.value;
  wasSignedOut = isSignedOut.value;
  untracked(() => {
    if (isBack && place.value.path === "/" && failure.value && !failure.value.isPattern) again();
  });
});

function begin(asked: Question): void {
  const wanted = JSON.stringify(asked);
  if (wanted === answered) return;
  stop();
  answered = wanted;
  if (!(asked.tab === "search" ? asked.text : asked.text.trim())) {
    shown.value = null;
    failure.value = null;
    isWaiting.value = false;
    return;
  }
  isWaiting.value = true;
  if (shown.value && shown.value.kind !== asked.tab) shown.value = null;
  timer = window.setTimeout(() => void run(asked, ending.signal), shown.value ? PAUSE_MILLISECONDS : 0);
}

function stop(): void {
  clearTimeout(timer);
  clearTimeout(countTimer);
  ending.abort();
  ending = new AbortController();
  count.value = null;
  elsewhere.value = null;
  isLoadingMore.value = false;
}

/** Ask the same again, after a failure or because files have changed. */
export function again(): void {
  answered = "";
  begin(question.value);
}

async function run(asked: Question, signal: AbortSignal): Promise<void> {
  try {
    const found = await request(asked, 0, signal);
    if (signal.aborted) return;
    performance.mark("flashgrep:answered");
    shown.value = found;
    failure.value = null;
    if (found.kind === "search") countLater(asked, found.answer, signal);
  } catch (error) {
    if (isAbort(error) || signal.aborted) return;
    failure.value = { text: told(error), isPattern: error instanceof Refused && error.code === "invalid_pattern" };
  }
  isWaiting.value = false;
}

async function request(asked: Question, offset: number, signal: AbortSignal): Promise<Shown> {
  const limit = asked.tab === "search" ? (offset ? NEXT_PAGE : FIRST_PAGE) : RANKED_PAGE;
  const page = { limit, offset };
  if (asked.tab === "query") {
    const sent = { text: asked.text, ...page };
    return { kind: "query", asked, answer: await post<QueryAnswer>("/api/query", sent, { signal }) };
  }
  if (asked.tab === "symbol") {
    const sent = { symbol_name: asked.text.trim(), ...page };
    return { kind: "symbol", asked, answer: await post<SymbolAnswer>("/api/symbol", sent, { signal }) };
  }
  const answer = await post<SearchAnswer>("/api/search", { ...filters(asked), context: asked.context, ...page }, { signal });
  if (answer.root) for (const file of answer.files) file.path = answer.root + file.path;
  return { kind: "search", asked, answer };
}

/** The next page, joined to what is shown. */
export async function loadMore(): Promise<void> {
  const before = shown.value;
  const next = before?.answer.next_offset;
  if (!before || next == null || isLoadingMore.value || isWaiting.value) return;
  const signal = ending.signal;
  isLoadingMore.value = true;
  try {
    const more = await request(before.asked, next, signal);
    if (signal.aborted) return;
    performance.mark("flashgrep:answered");
    shown.value = joined(before, more);
  } catch (error) {
    if (isAbort(error) || signal.aborted) return;
    failure.value = { text: told(error), isPattern: false };
  }
  isLoadingMore.value = false;
}

function joined(before: Shown, more: Shown): Shown {
  if (before.kind === "search" && more.kind === "search") {
    const answer = {
      ...more.answer,
      files: joinedFiles(before.answer.files, more.answer.files),
      shown: before.answer.shown + more.answer.shown,
      milliseconds: before.answer.milliseconds,
      skipped: before.answer.skipped,
    };
    return { ...before, answer };
  }
  if (before.kind === "query" && more.kind === "query") {
    return { ...before, answer: { ...more.answer, results: [...before.answer.results, ...more.answer.results] } };
  }
  if (before.kind === "symbol" && more.kind === "symbol") {
    const answer = {
      ...more.answer,
      definitions: [...before.answer.definitions, ...more.answer.definitions],
      references: [...before.answer.references, ...more.answer.references],
    };
    return { ...before, answer };
  }
  return more;
}

/** Pages may part a file in two; lines of context around the cut may be in both. */
export function joinedFiles(before: FoundFile[], more: FoundFile[]): FoundFile[] {
  const last = before.at(-1);
  const first = more[0];
  if (!last || !first || last.path !== first.path) return [...before, ...more];
  const lines = new Map(last.lines.map((one) => [one.line, one]));
  for (const one of first.lines) {
    if (!lines.get(one.line)?.match) lines.set(one.line, one);
  }
  const both = [...lines.values()].sort((one, other) => one.line - other.line);
  return [...before.slice(0, -1), { path: last.path, lines: both }, ...more.slice(1)];
}

let countEnding = new AbortController();

/** The same question of the notes instead of the workspace, or the other way round; null where there is but one. */
export function turned(asked: Question): Question | null {
  const has = session.value;
  if (!has?.workspace || !has.notes) return null;
  return { ...asked, tab: "search", where: asked.where === "notes" ? "workspace" : "notes", path: "", type: "" };
}

function countLater(asked: Question, answer: SearchAnswer, signal: AbortSignal): void {
  if (answer.next_offset === null) {
    count.value = { files: answer.files.length, matches: answer.shown };
    const other = answer.shown ? null : turned(asked);
    if (other) countTimer = window.setTimeout(() => void lookElsewhere(other, signal), COUNT_PAUSE_MILLISECONDS);
    return;
  }
  count.value = "counting";
  countEnding = new AbortController();
  signal.addEventListener("abort", () => countEnding.abort());
  countTimer = window.setTimeout(() => void countNow(asked, countEnding.signal), COUNT_PAUSE_MILLISECONDS);
}

async function countNow(asked: Question, signal: AbortSignal): Promise<void> {
  try {
    const found = await post<Count>("/api/count", filters(asked), { signal });
    if (!signal.aborted) count.value = found;
  } catch (error) {
    if (!isAbort(error) && !signal.aborted) count.value = "stopped";
  }
}

async function lookElsewhere(asked: Question, signal: AbortSignal): Promise<void> {
  try {
    const found = await post<Count>("/api/count", filters(asked), { signal });
    if (!signal.aborted) elsewhere.value = found;
  } catch {
    // A remark that is missing; what was asked is answered.
  }
}

export function stopCounting(): void {
  clearTimeout(countTimer);
  countEnding.abort();
  count.value = "stopped";
}
