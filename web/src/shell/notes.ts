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
  try {
    do {
      isStale = false;
      notes.value = (await get<{ notes: NoteRow[] }>("/kb/tree")).notes;
    } while (isStale);
  } catch {
    notes.value ??= [];
  } finally {
    isLoading = false;
  }
}

let timer = 0;
function soon(): void {
  clearTimeout(timer);
  timer = window.setTimeout(() => void load(), 300);
}

export function followNotes(): void {
  hear("note", soon);
  hear("decided", soon);
  hear("reload", soon);
  hear("changed", soon);
}
