// News of the notes (server-sent events): what changed, was decided, or must be loaded again.

import { effect, signal } from "@preact/signals";
import { get, isSignedOut } from "./api";

export type Kind = "changed" | "note" | "job" | "decided" | "comment" | "reload";
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Listener = (data: any) => void;

const KINDS: Kind[] = ["changed", "note", "job", "decided", "comment", "reload"];
const listeners = new Map<Kind, Set<Listener>>();

/** idle: nobody listens; lost: the browser tries again by itself. */
export const connection = signal<"idle" | "open" | "lost">("idle");

let source: EventSource | null = null;

/** Hear of one kind of event; gives the way to stop. */
export function hear(kind: Kind, listener: Listener): () => void {
  const own = listeners.get(kind) ?? new Set();
  listeners.set(kind, own);
  own.add(listener);
  start();
  return () => {
    own.delete(listener);
  };
}

function start(): void {
  if (source || isSignedOut.value) return;
  source = new EventSource("/kb/events");
  let wasLost = false;
  source.onopen = () => {
    connection.value = "open";
    if (wasLost) tell("reload", {}); // what happened in between may be kept no longer
    wasLost = false;
  };
  source.onerror = () => {
    connection.value = "lost";
    wasLost = true;
    if (source?.readyState === EventSource.CLOSED) {
      source = null;
      // A stream that is refused does not say why; a request does, and sees a login that is over.
      void get("/api/session")
        .catch(() => undefined)
        .finally(() => setTimeout(start, 2000));
    }
  };
  for (const kind of KINDS) {
    source.addEventListener(kind, (event) => tell(kind, JSON.parse((event as MessageEvent).data)));
  }
}

// Somebody who has signed in again hears the news again.
effect(() => {
  if (!isSignedOut.value && listeners.size) start();
});

function tell(kind: Kind, data: unknown): void {
  for (const listener of [...(listeners.get(kind) ?? [])]) listener(data);
}
