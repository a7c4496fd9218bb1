// What a person can do on the page, by button or key.

import { computed, signal } from "@preact/signals";
import { navigate } from "../shell/router";
import { inUrl } from "../shell/api";
import { say } from "../shell/toast";
import { advance, current, elementOf, focusCard } from "./cursor";
import type { Action } from "./decisions";
import { begun, beginDraft, decide, drafts, setDraft, settled, undo, undoLast } from "./decisions";
import { filters } from "./filters";
import { isBusy } from "./jobs";
import { mayOn } from "./rights";
import { seen } from "./seen";
import type { Shown } from "./selection";
import { selected } from "./selection";
import type { Group, Suggestion } from "./suggestions";
import { groups, listed } from "./suggestions";

/** What a person is asked before something is decided. */
export type Question = { kind: "reason"; id: string } | { kind: "many"; shown: Shown; action: Action };
export const question = signal<Question | null>(null);

/** What was seen when "unseen" was chosen: a card does not vanish because it is looked at. */
let seenThen: ReadonlySet<string> | null = null;

export const shownGroups = computed((): Group[] => {
  if (!filters.value.unseen) {
    seenThen = null;
    return groups.value;
  }
  seenThen ??= seen.peek();
  const then = seenThen;
  return groups.value
    .map((group) => ({ note: group.note, suggestions: group.suggestions.filter((one) => !then.has(one.id)) }))
    .filter((group) => group.suggestions.length);
});

/** All cards in the order of the page. */
export const shownCards = computed((): Suggestion[] => shownGroups.value.flatMap((group) => group.suggestions));

/** Those of some cards that can be decided now, as they are shown. */
export function open(cards: readonly Suggestion[]): Shown {
  const free = cards.filter((one) => !settled.value.has(one.id) && mayOn("write", one.note));
  return new Map(free.map((one) => [one.id, one.digest]));
}

function isOpen(id: string): boolean {
  const one = listed.value.get(id);
  return one !== undefined && !settled.value.has(id) && mayOn("write", one.note);
}

/** Accept what is shown; with a text, that in its place. What somebody changed meanwhile is shown instead. */
export function accept(id: string, text?: string): void {
  const one = listed.value.get(id);
  if (!one || !isOpen(id)) return;
  const isEdited = text !== undefined && text !== one.new;
  if (text !== undefined && !isEdited) setDraft(id, null);
  if (!isEdited) {
    void decide(new Map([[id, one.digest]]), "accept");
    advance(shownCards.value, id);
    return;
  }
  // The editor stays until the text is taken.
  const { digest } = begun.value.get(id) ?? one;
  void decide(new Map([[id, digest]]), "accept", { text }).then(() => {
    const focused = document.activeElement;
    const isHere = !focused || focused === document.body || elementOf(id)?.contains(focused);
    if (isHere && !drafts.value.has(id)) advance(shownCards.value, id);
  });
}

export function reject(id: string, reason = ""): void {
  const one = listed.value.get(id);
  if (!one || !isOpen(id)) return;
  void decide(new Map([[id, one.digest]]), "reject", reason.trim() ? { reason: reason.trim() } : {});
  advance(shownCards.value, id);
}

export function askReason(id: string): void {
  if (isOpen(id)) question.value = { kind: "reason", id };
}

export function openEditor(id: string): void {
  const one = listed.value.get(id);
  if (one && isOpen(id) && !drafts.value.has(id)) beginDraft(one, one.new);
}

export function closeEditor(id: string): void {
  setDraft(id, null);
  focusCard(id);
}

/** One is decided at once; for more the number is shown first. */
export function decideAll(shown: Shown, action: Action): void {
  if (shown.size === 1) void decide(shown, action);
  else if (shown.size && !isBusy()) question.value = { kind: "many", shown, action };
}

export function select(shown: Iterable<readonly [id: string, digest: string]>, isChosen: boolean): void {
  const changed = new Map(selected.value);
  for (const [id, digest] of shown) {
    if (!isChosen) changed.delete(id);
    else if (!changed.has(id)) changed.set(id, digest);
  }
  selected.value = changed;
}

export function toggle(id: string): void {
  const one = listed.value.get(id);
  if (one) select([[id, one.digest]], !selected.value.has(id));
}

/** The selected cards that can still be decided, as they were when they were selected. */
export const chosen = computed((): Shown => {
  const free = open(shownCards.value);
  return new Map([...selected.value].filter(([id]) => free.has(id)));
});

export function takeBack(decision: number): void {
  void undo(decision).then(focusUndone);
}

export function takeBackLast(): void {
  void undoLast().then(focusUndone);
}

/** The card may come back only with the next list. */
function focusUndone(id: string | null): void {
  if (id) focusCard(id);
}

/** Do something with the card that was chosen. Nothing is decided that nobody has chosen. */
export function withCurrent(run: (id: string) => void): void {
  if (current.value && listed.value.has(current.value)) run(current.value);
  else if (shownCards.value.length) say("Choose a suggestion first: j goes to the first one");
}

export function openNote(): void {
  withCurrent((id) => {
    const one = listed.value.get(id);
    if (one) navigate(`/notes/${inUrl(one.note)}?line=${one.line}`);
  });
}
