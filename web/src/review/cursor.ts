// Which card is the current one: j and k move it, and the focus goes with it.

import { signal } from "@preact/signals";
import { settled } from "./decisions";
import type { Suggestion } from "./suggestions";

export const current = signal<string | null>(null);
export const reveal = signal<{ id: string } | null>(null);

/** A card that shall have the focus as soon as it is in the page. */
let wanted: string | null = null;

export function elementOf(id: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[data-suggestion="${CSS.escape(id)}"]`);
}

export function focusCard(id: string): void {
  current.value = id;
  reveal.value = { id };
  wanted = id;
  const element = elementOf(id);
  if (element) takeFocus(id, element);
}

/** Called by a card that comes into the page. */
export function takeFocus(id: string, element: HTMLElement): void {
  if (wanted !== id) return;
  wanted = null;
  element.focus({ preventScroll: true });
}

/** Move among the cards that wait for a decision; from none, to the first that is in view. */
export function move(cards: readonly Suggestion[], step: 1 | -1): void {
  const at = cards.findIndex((one) => one.id === current.value);
  if (at < 0) {
    const inView = cards.find((one) => (elementOf(one.id)?.getBoundingClientRect().bottom ?? 0) > 140);
    const start = inView ?? cards[0];
    if (start) focusCard(start.id);
    return;
  }
  const next = neighbour(cards, at, step);
  if (next) focusCard(next.id);
}

/** After a decision: on to the next card, or back to the last. */
export function advance(cards: readonly Suggestion[], from: string): void {
  const at = cards.findIndex((one) => one.id === from);
  const next = neighbour(cards, at, 1) ?? neighbour(cards, at, -1);
  if (next) focusCard(next.id);
  else elementOf(from)?.focus({ preventScroll: true });
}

function neighbour(cards: readonly Suggestion[], at: number, step: 1 | -1): Suggestion | undefined {
  for (let place = at + step; place >= 0 && place < cards.length; place += step) {
    if (!settled.value.has(cards[place]!.id)) return cards[place];
  }
  return undefined;
}
