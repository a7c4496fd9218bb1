// Deciding and undoing, and what became of each suggestion that is still in the page.

import { signal } from "@preact/signals";
import { counted } from "../shell/age";
import { get, post, Refused, told } from "../shell/api";
import { hear } from "../shell/events";
import { session } from "../shell/session";
import { complain, say } from "../shell/toast";
import type { Counts, Job } from "./jobs";
import { canUndo, decideMany, followJobs, isInJob, job, undoJob } from "./jobs";
import type { Shown } from "./selection";
import { unselect } from "./selection";
import type { Suggestion } from "./suggestions";
import { decided, kept, leave, listed, refresh, show } from "./suggestions";

export type Action = "accept" | "reject";
export type Outcome = "accepted" | "rejected" | "edited";

/** What became of a card: it is drawn as one line. */
export type Settled =
  | { state: "busy"; action: Action }
  | ({ state: "own" } & Decided)
  | ({ state: "others"; by: string; time: number } & Decided)
  | { state: "gone"; message: string };

interface Decided {
  outcome: Outcome;
  decision: number;
  reason: string | null;
  /** What was accepted in place of the proposal; null where that is not known, or was not so. */
  text: string | null;
}

export interface Decision {
  decision: number;
  suggestion: string;
  action: Action;
  outcome?: Outcome;
  reason?: string | null;
  text?: string | null;
  note: string;
  by: string;
  time: number;
  author: string;
  old: string;
  new: string;
  undone_by: string | null;
  undone_time: number | null;
}

interface Result {
  id: string;
  status: "done" | "already_decided" | "gone" | "changed" | "refused" | "not_found" | "forbidden";
  message: string;
  decision?: number;
  action?: Action;
  outcome?: Outcome;
  reason?: string | null;
  by?: string;
  time?: number;
  /** What it takes away and brings now, where that is not what was expected. */
  old?: string;
  new?: string;
  digest?: string;
}

/** A suggestion as the person saw it. */
export type Seen = Pick<Suggestion, "old" | "new" | "digest">;

interface Words {
  reason?: string;
  text?: string;
}

const AT_ONCE = 500; // more are a job of the server
const MOMENT = 10_000; // milliseconds that a decided card stays
const ABOUT = 300; // milliseconds in which the decisions of others are one message

export const settled = signal<ReadonlyMap<string, Settled>>(new Map());
export const problems = signal<ReadonlyMap<string, string>>(new Map());
/** Texts that are being edited, by id. */
export const drafts = signal<ReadonlyMap<string, string>>(new Map());
/** What was proposed when each of them was begun, or looked at again since. */
export const begun = signal<ReadonlyMap<string, Seen>>(new Map());
/** Cards that are in the page; others leave at once. */
export const drawn = new Set<string>();

kept.has = (id) => settled.value.has(id) || drafts.value.has(id);

function changedMap<Value>(map: ReadonlyMap<string, Value>, entries: Iterable<[string, Value | null]>): Map<string, Value> {
  const result = new Map(map);
  for (const [id, value] of entries) {
    if (value === null) result.delete(id);
    else result.set(id, value);
  }
  return result;
}

function settle(entries: Iterable<[string, Settled | null]>): void {
  settled.value = changedMap(settled.value, entries);
}

export function setDraft(id: string, text: string | null): void {
  drafts.value = changedMap(drafts.value, [[id, text]]);
  if (text === null) begun.value = changedMap(begun.value, [[id, null]]);
}

/** Edit a proposal, or go on with the same text after another look at it. */
export function beginDraft({ id, old, new: proposed, digest }: Suggestion, text: string): void {
  begun.value = changedMap(begun.value, [[id, { old, new: proposed, digest }]]);
  drafts.value = changedMap(drafts.value, [[id, text]]);
}

export function setProblem(id: string, text: string | null): void {
  problems.value = changedMap(problems.value, [[id, text]]);
}

// ── deciding ─────────────────────────────────────────────────────────────────────────────────────

/** The decisions made here that `undoLast` takes back, the newest last; those made together are one. */
const made: { suggestion: string; decision: number }[][] = [];

/** Decide on what the person saw; what says something else now is left, and shown as it is. */
export async function decide(shown: Shown, action: Action, words: Words = {}): Promise<void> {
  if (!shown.size) return;
  if (shown.size > AT_ONCE) return decideMany(shown, action, words.reason);
  const ids = [...shown.keys()];
  settle(ids.map((id) => [id, { state: "busy", action }]));
  problems.value = changedMap(problems.value, ids.map((id) => [id, null]));
  let results: Result[];
  try {
    const body = { ids, action, expected: Object.fromEntries(shown), ...words };
    results = (await post<{ results: Result[] }>("/kb/suggestions/decide", body)).results;
  } catch (error) {
    const body = error instanceof Refused ? (error.body as { results?: Result[] } | null) : null;
    if (!body?.results) {
      settle(ids.map((id) => [id, null]));
      problems.value = changedMap(problems.value, ids.map((id) => [id, told(error)]));
      if (ids.length > 1) complain(told(error));
      return;
    }
    results = body.results;
  }
  const done = results.filter((one) => one.status === "done");
  const outcome = words.text !== undefined ? "edited" : action === "accept" ? "accepted" : "rejected";
  settle(results.map((one) => [one.id, outcomeOf(one, outcome, words)]));
  for (const one of done) setDraft(one.id, null);
  unselect(ids);
  for (const one of results) {
    if (one.decision !== undefined) decided.set(one.id, one.decision);
    if (isStillOpen(one)) setProblem(one.id, told(one.message));
    if (one.status === "changed") takeChanged(one);
  }
  const group = done.map((one) => ({ suggestion: one.id, decision: one.decision! }));
  if (group.length) made.push(group);
  if (ids.length > 1) sayResults(action, countsOf(results), group);
  leaveLater(results.filter((one) => !isStillOpen(one)).map((one) => one.id));
}

function isStillOpen(one: Result): boolean {
  return one.status === "forbidden" || one.status === "changed" || one.status === "refused";
}

/** Show the suggestion as it is now: the list may come later. */
function takeChanged({ id, old, new: proposed, digest }: Result): void {
  const known = listed.value.get(id);
  if (known && old !== undefined && proposed !== undefined && digest !== undefined) {
    show({ ...known, old, new: proposed, digest });
  }
}

function outcomeOf(one: Result, outcome: Outcome, words: Words): Settled | null {
  if (one.status === "done") {
    return { state: "own", outcome, decision: one.decision!, reason: words.reason ?? null, text: words.text ?? null };
  }
  if (one.status === "already_decided" && one.by) {
    const theirs = one.outcome ?? (one.action === "accept" ? "accepted" : "rejected");
    const known = { outcome: theirs, decision: one.decision ?? 0, reason: one.reason ?? null, text: null };
    return { state: "others", ...known, by: one.by, time: one.time ?? 0 };
  }
  return isStillOpen(one) ? null : { state: "gone", message: told(one.message) };
}

function countsOf(results: readonly Result[]): Counts {
  const counts: Counts = {};
  for (const one of results) counts[one.status] = (counts[one.status] ?? 0) + 1;
  return counts;
}

function sayResults(action: Action, counts: Counts, group: { suggestion: string; decision: number }[]): void {
  const undo = group.length ? { name: `Undo all ${group.length}`, run: () => void undoAll(group) } : undefined;
  say(resultText(action, counts), undo);
}

const PAST = { accept: "accepted", reject: "rejected", undo: "undone" };

/** "4,998 accepted, 2 decided by others before". */
export function resultText(action: Job["action"], counts: Counts): string {
  const isUndo = action === "undo";
  const parts = [
    `${counted(counts.done ?? 0, isUndo ? "decision" : "suggestion")} ${PAST[action]}`,
    counts.already_decided ? `${counts.already_decided.toLocaleString("en")} ${isUndo ? "undone" : "decided by others"} before` : "",
    (counts.gone ?? 0) + (counts.not_found ?? 0)
      ? `${((counts.gone ?? 0) + (counts.not_found ?? 0)).toLocaleString("en")} ${isUndo ? "that cannot be undone any more" : "no longer in their notes"}`
      : "",
    counts.changed ? `${counts.changed.toLocaleString("en")} left because ${counts.changed === 1 ? "it" : "they"} had changed` : "",
    counts.refused ? `${counts.refused.toLocaleString("en")} left because deciding them would create a mark that nobody made` : "",
    counts.forbidden ? `${counts.forbidden.toLocaleString("en")} that you may not decide` : "",
  ];
  return parts.filter(Boolean).join(", ");
}

// ── leaving ──────────────────────────────────────────────────────────────────────────────────────

/** What is not in the page goes at once; the rest after a moment, and never from under the focus. */
function leaveLater(ids: readonly string[]): void {
  const shown = ids.filter((id) => drawn.has(id));
  remove(ids.filter((id) => !drawn.has(id) && !drafts.value.has(id)));
  for (const id of shown) setTimeout(() => leaveWhenFree(id), MOMENT);
}

function leaveWhenFree(id: string): void {
  const state = settled.value.get(id);
  if (!state || state.state === "busy") return;
  if (drafts.value.has(id)) return;
  const row = document.querySelector(`[data-suggestion="${CSS.escape(id)}"]`);
  if (row?.contains(document.activeElement) || row?.matches(":hover")) {
    setTimeout(() => leaveWhenFree(id), MOMENT / 5);
    return;
  }
  remove([id]);
}

export function remove(ids: readonly string[]): void {
  if (!ids.length) return;
  leave(ids);
  settle(ids.map((id) => [id, null]));
  problems.value = changedMap(problems.value, ids.map((id) => [id, null]));
  drafts.value = changedMap(drafts.value, ids.map((id) => [id, null]));
  begun.value = changedMap(begun.value, ids.map((id) => [id, null]));
  unselect(ids);
}

// ── undoing ──────────────────────────────────────────────────────────────────────────────────────

/** Take a decision back; gives the suggestion, or null where that was refused. */
export async function undo(decision: number): Promise<string | null> {
  try {
    const { undone } = await post<{ undone: Decision }>("/kb/suggestions/undo", { decision });
    forgetDecision(undone);
    const known = listed.value.get(undone.suggestion);
    if (known) refresh(known.note);
    return undone.suggestion;
  } catch (error) {
    complain(told(error));
    return null;
  }
}

/** Decisions that were undone: news of them may come later than the answer to the undo. */
const undoneOnes = new Set<number>();

function forgetDecision({ suggestion, decision }: Decision): void {
  undoneOnes.add(decision);
  if (decided.get(suggestion) !== decision && decided.has(suggestion)) return; // it was decided again
  decided.delete(suggestion);
  settle([[suggestion, null]]);
  for (const group of made) {
    const at = group.findIndex((one) => one.suggestion === suggestion);
    if (at >= 0) group.splice(at, 1);
  }
}

async function undoAll(group: readonly { suggestion: string; decision: number }[]): Promise<string | null> {
  let last: string | null = null;
  let count = 0;
  for (const one of [...group].reverse()) {
    if (decided.get(one.suggestion) !== one.decision) continue;
    const undone = await undo(one.decision);
    if (!undone) break;
    last = undone;
    count += 1;
  }
  if (count > 1) say(`${counted(count, "decision")} undone`);
  return last;
}

/** Take back what was decided last, here or before; gives the suggestion. */
export async function undoLast(): Promise<string | null> {
  if (canUndo(job.value)) {
    await undoJob(job.value);
    return null;
  }
  while (made.length && !made.at(-1)!.length) made.pop();
  const group = made.pop();
  if (group) return undoAll([...group]);
  const own = (await ownDecisions(100)).find((one) => one.undone_by === null);
  if (own) return undo(own.decision);
  say("There is no decision of yours to undo");
  return null;
}

/** The newest decisions of this person. */
export async function ownDecisions(most: number): Promise<Decision[]> {
  const query = new URLSearchParams({ limit: String(most), by: session.value?.name ?? "" });
  return (await get<{ decisions: Decision[] }>(`/kb/decisions?${query}`)).decisions;
}

export function outcomeName(one: Pick<Decision, "action" | "outcome">): Outcome {
  return one.outcome ?? (one.action === "accept" ? "accepted" : "rejected");
}

// ── what others decide ───────────────────────────────────────────────────────────────────────────

let heard: Decision[] = [];
let timer = 0;

function hearDecision(event: Decision): void {
  if (event.undone_by !== null) {
    forgetDecision(event);
    refresh(event.note);
    return;
  }
  if (decided.get(event.suggestion) === event.decision) return; // our own, and answered already
  heard.push(event);
  timer ||= window.setTimeout(takeIn, ABOUT);
}

function takeIn(): void {
  timer = 0;
  const fresh = heard.filter((one) => decided.get(one.suggestion) !== one.decision && !undoneOnes.has(one.decision));
  heard = [];
  const known = fresh.filter((one) => listed.value.has(one.suggestion) && settled.value.get(one.suggestion)?.state !== "busy");
  for (const one of fresh) decided.set(one.suggestion, one.decision);
  const shown = known.filter((one) => drawn.has(one.suggestion) || drafts.value.has(one.suggestion));
  settle(shown.map((one) => [one.suggestion, heardState(one)]));
  unselect(known.map((one) => one.suggestion));
  leaveLater(known.map((one) => one.suggestion));
  const others = new Map<string, Decision[]>();
  for (const one of known) {
    if (isOwnJob(one)) continue;
    others.set(one.by, [...(others.get(one.by) ?? []), one]);
  }
  for (const [by, decisions] of others) say(`${by === session.value?.name ? "You, elsewhere," : by} ${verbs(decisions)}`);
}

function isOwnJob(one: Decision): boolean {
  return one.by === session.value?.name && isInJob(one.suggestion);
}

function heardState(one: Decision): Settled {
  const heard = { outcome: outcomeName(one), decision: one.decision, reason: one.reason ?? null, text: one.text ?? null };
  return isOwnJob(one) ? { state: "own", ...heard } : { state: "others", ...heard, by: one.by, time: one.time };
}

function verbs(decisions: readonly Decision[]): string {
  const count = decisions.length;
  const kinds = new Set(decisions.map(outcomeName));
  const verb = kinds.size === 1 ? [...kinds][0]! : "decided on";
  const notes = new Set(decisions.map((one) => one.note));
  const where = notes.size === 1 ? ` in ${[...notes][0]}` : "";
  return `${verb} ${count === 1 ? "a suggestion" : counted(count, "suggestion")}${where}`;
}

/** Hear of decisions while the page is shown; gives the way to stop. */
export function followDecisions(): () => void {
  const ends = [
    hear("decided", hearDecision),
    hear("reload", () => decided.clear()), // undone ones may be among what was missed
    followJobs(),
  ];
  return () => ends.forEach((end) => end());
}
