// The notes and files that were opened last in this browser, for Ctrl-K.

import { effect } from "@preact/signals";
import { place } from "./router";

const NAME = "flashgrep.recent";
const MOST = 12;

export interface Recent {
  kind: "note" | "file";
  path: string;
}

export function recent(): Recent[] {
  try {
    const held: unknown = JSON.parse(localStorage.getItem(NAME) ?? "[]");
    return Array.isArray(held) ? held.filter(isRecent).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

function isRecent(one: unknown): one is Recent {
  const { kind, path } = (one ?? {}) as Partial<Recent>;
  return (kind === "note" || kind === "file") && typeof path === "string";
}

effect(() => {
  const parts = /^\/(notes|file)\/(.+)$/.exec(place.value.path);
  if (!parts) return;
  const opened: Recent = { kind: parts[1] === "notes" ? "note" : "file", path: parts[2]! };
  const others = recent().filter((one) => one.kind !== opened.kind || one.path !== opened.path);
  try {
    localStorage.setItem(NAME, JSON.stringify([opened, ...others].slice(0, MOST)));
  } catch {
    // Storage is switched off: nothing is remembered.
  }
});
