// Decisions on so many suggestions that the server makes a job of them: its progress, its end, and what
// is left of it when the server was stopped in the middle.

import { signal } from "@preact/signals";
import { counted } from "../shell/age";
import { get, post, Refused, told } from "../shell/api";
import { hear } from "../shell/events";
import { complain } from "../shell/toast";
import type { Shown } from "./selection";
import { selected } from "./selection";
import { decided, listPage, load, pace } from "./suggestions";

type Status = "done" | "already_decided" | "gone" | "changed" | "refused" | "not_found" | "forbidden";
export type Counts = Partial<Record<Status, number>>;

interface News {
  job: string;
  done: number;
  total: number;
  counts: Counts;
  state: "running" | "done" | "stopped" | "failed";
  message: string;
}

export interface Job extends News {
  action: "accept" | "reject" | "undo";
}

const PAGE = 1000;

export const job = signal<Job | null>(null);
/** The suggestions of the last job that decided. */
let inJob: Shown = new Map();

export function isInJob(id: string): boolean {
  return inJob.has(id);
}

/** Whether a job runs; says so, as only one can be followed. */
export function isBusy(): boolean {
  if (job.value?.state !== "running") return false;
  complain("A large decision is still in progress. Try again when it is done.");
  return true;
}

export async function decideMany(shown: Shown, action: "accept" | "reject", reason?: string): Promise<void> {
  if (isBusy()) return;
  inJob = shown;
  const body = { ids: [...shown.keys()], action, expected: Object.fromEntries(shown), ...(reason ? { reason } : {}) };
  await begin("/kb/suggestions/decide", body, action);
}

/** Whether the last job can be taken back. */
export function canUndo(one: Job | null): one is Job {
  return one !== null && one.action !== "undo" && one.state !== "running" && Boolean(one.counts.done);
}

export async function undoJob(one: Job): Promise<void> {
  if (!isBusy()) await begin("/kb/suggestions/undo", { job: one.job }, "undo");
}

async function begin(path: string, body: unknown, action: Job["action"]): Promise<void> {
  try {
    const answer = await post<{ job: string; total: number }>(path, body);
    const early = unheard.get(answer.job);
    job.value = { done: 0, counts: {}, state: "running", message: "", ...early, ...answer, action };
    pace.isSlow = true;
    unheard.clear();
    if (early && early.state !== "running") finish();
  } catch (error) {
    complain(told(error));
  }
}

/** News of a job may come before the answer that names it. */
const unheard = new Map<string, News>();

function hearJob(event: News): void {
  const current = job.value;
  if (!current || current.job !== event.job) {
    unheard.set(event.job, event);
    return;
  }
  if (current.state !== "running") return;
  job.value = { ...current, ...event };
  if (event.state !== "running") finish();
}

function finish(): void {
  pace.isSlow = false;
  selected.value = new Map();
  // Not every piece of news has come: what is listed now counts.
  for (const id of inJob.keys()) decided.delete(id);
  void load();
}

// ── a server that was stopped ────────────────────────────────────────────────────────────────────

/** After a connection that was lost: a server that was started anew knows nothing of the job. */
async function lookAgain(): Promise<void> {
  const current = job.value;
  if (current?.state !== "running") return;
  try {
    hearJob(await get<News>(`/kb/jobs/${current.job}`));
  } catch (error) {
    if (error instanceof Refused && error.status === 404) await stopped(current);
  }
}

async function stopped(current: Job): Promise<void> {
  let left: string[];
  try {
    left = (await pending()).filter((id) => inJob.has(id));
  } catch {
    return; // gone again: the next connection looks again
  }
  if (job.value?.job !== current.job) return;
  const why = "The server was stopped in the middle.";
  const rest = left.length.toLocaleString("en");
  const message =
    current.action === "undo"
      ? `${why} ${counted(left.length, "suggestion")} of ${current.total.toLocaleString("en")} are pending again.`
      : `${why} ${counted(inJob.size - left.length, "suggestion")} of ${inJob.size.toLocaleString("en")} are decided, and stay so; ${rest} are still pending${left.length ? ", and selected" : ""}.`;
  job.value = { ...current, counts: {}, state: "stopped", message };
  finish();
  // As they were when the job began: the person has seen nothing else of them.
  if (current.action !== "undo") selected.value = new Map(left.map((id) => [id, inJob.get(id)!]));
}

/** The ids of all that is pending, whatever the page is filtered by. */
async function pending(): Promise<string[]> {
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await listPage("", cursor, PAGE);
    found.push(...page.suggestions.map((one) => one.id));
    cursor = page.next;
  } while (cursor);
  return found;
}

/** Hear of jobs while the page is shown; gives the way to stop. */
export function followJobs(): () => void {
  const ends = [hear("job", hearJob), hear("reload", () => void lookAgain())];
  return () => ends.forEach((end) => end());
}
