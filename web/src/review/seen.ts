// What this person has looked at, kept in this browser for each name.

import { computed, signal } from "@preact/signals";
import { session } from "../shell/session";

const MOST = 20_000; // ids; the oldest are forgotten
const LOOKED_AT = 1000; // milliseconds in view

const name = computed(() => `flashgrep.seen.${session.value?.name ?? ""}`);

export const seen = signal<ReadonlySet<string>>(new Set());

export function loadSeen(): void {
  try {
    const held: unknown = JSON.parse(localStorage.getItem(name.value) ?? "[]");
    seen.value = new Set(Array.isArray(held) ? held.filter((one) => typeof one === "string") : []);
  } catch {
    seen.value = new Set();
  }
}

let fresh: string[] = [];
let timer = 0;

export function markSeen(id: string): void {
  if (seen.value.has(id) || fresh.includes(id)) return;
  fresh.push(id);
  timer ||= window.setTimeout(keep, 400);
}

function keep(): void {
  timer = 0;
  const all = [...seen.value, ...fresh].slice(-MOST);
  fresh = [];
  seen.value = new Set(all);
  try {
    localStorage.setItem(name.value, JSON.stringify(all));
  } catch {
    // The browser keeps no more: marks last until the page is closed.
  }
}

// One observer for all cards: a card that stays in view for a second was looked at.
const waiting = new Map<Element, number>();
const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, intersectionRatio, intersectionRect } of entries) {
      const isInView = intersectionRatio >= 0.5 || intersectionRect.height > innerHeight / 3;
      if (isInView && waiting.has(target)) continue;
      clearTimeout(waiting.get(target));
      waiting.delete(target);
      const id = (target as HTMLElement).dataset["suggestion"];
      if (isInView && id) waiting.set(target, window.setTimeout(() => markSeen(id), LOOKED_AT));
    }
  },
  { rootMargin: "-96px 0px 0px 0px", threshold: [0, 0.1, 0.25, 0.5] },
);

/** Watch a card; gives the way to stop. */
export function watchSeen(element: Element): () => void {
  observer.observe(element);
  return () => {
    observer.unobserve(element);
    clearTimeout(waiting.get(element));
    waiting.delete(element);
  };
}
