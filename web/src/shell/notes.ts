// The paths of all notes, for the tree, Ctrl-K and link completion; kept up by events.

import { signal } from "@preact/signals";
import { get } from "./api";
import { hear } from "./events";
import { session } from "./session";

export interface NoteRow {
  path: string;
  changed: number;
  pending: number;
}

export const notes = signal<NoteRow[] | null>(null);

let isLoading = false;
let isStale = false;
let generation: number | null = null;
let took = 0;

/** Load the list once; later changes come by themselves. */
export function useNotes(): NoteRow[] | null {
  if (notes.value === null) void load();
  return notes.value;
}

async function load(): Promise<void> {
  if (!session.value?.notes) return;
  if (isLoading) {
    isStale = true;
    return;
  }
  isLoading = true;
  isStale = false;
  try {
    const begun = performance.now();
    const answer = await get<{ notes: NoteRow[]; generation: number }>("/kb/tree", { cache: "no-cache" });
    took = performance.now() - begun;
    if (answer.generation !== generation || notes.value === null) notes.value = answer.notes;
    generation = answer.generation;
  } catch {
    notes.value ??= [];
  } finally {
    isLoading = false;
    if (isStale) soon();
  }
}

const PAUSE_MILLISECONDS = 300;
const SHARE = 20; // the list of many notes takes a while: it may take a twentieth of the time

let timer = 0;
function soon(): void {
  timer ||= window.setTimeout(() => {
    timer = 0;
    void load();
  }, Math.max(PAUSE_MILLISECONDS, took * SHARE));
}

export function followNotes(): void {
  hear("note", soon);
  hear("decided", soon);
  hear("reload", soon);
  hear("changed", soon);
}
