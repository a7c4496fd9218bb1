// News of the notes (server-sent events): what changed, was decided, or must be loaded again.
//
// A browser opens six connections to a server and no more, and a stream takes one of them as long as it
// is open. So of all the tabs of a person one has the stream, the one that holds the lock, and tells the
// others. When it is closed the next one takes over.

import { effect, signal } from "@preact/signals";
import { get, isSignedOut } from "./api";
import { session } from "./session";

export type Kind = "changed" | "note" | "job" | "decided" | "comment" | "reload";
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Listener = (data: any) => void;
type State = "idle" | "open" | "lost";
type Message = { kind: Kind; data: unknown } | { state: State } | { asks: true };

const KINDS: Kind[] = ["changed", "note", "job", "decided", "comment", "reload"];
const listeners = new Map<Kind, Set<Listener>>();

/** idle: nobody listens; lost: the browser tries again by itself. */
export const connection = signal<State>("idle");

/** Hear of one kind of event; gives the way to stop. */
export function hear(kind: Kind, listener: Listener): () => void {
  const own = listeners.get(kind) ?? new Set();
  listeners.set(kind, own);
  own.add(listener);
  follow();
  return () => {
    own.delete(listener);
  };
}

// Somebody who has signed in again hears the news again.
effect(() => {
  if (isSignedOut.value) leave();
  else if (session.value && listeners.size) follow();
});

function tell(kind: Kind, data: unknown): void {
  for (const listener of [...(listeners.get(kind) ?? [])]) listener(data);
}

// ── one stream for all tabs ──

let channel: BroadcastChannel | null = null;
let isLeading = false;
let leaving = new AbortController();
let source: EventSource | null = null;
let wasLost = false;

function follow(): void {
  if (channel || !session.value || isSignedOut.value) return;
  const name = `flashgrep-news/${session.value.name}`; // of a person: tabs of another hear nothing
  channel = new BroadcastChannel(name);
  channel.onmessage = (event: MessageEvent<Message>) => heard(event.data);
  // Browsers have locks only where a page comes by https or from this machine; elsewhere each tab has
  // a stream of its own.
  if (!navigator.locks) {
    lead();
    return;
  }
  channel.postMessage({ asks: true } satisfies Message);
  leaving = new AbortController();
  const { signal } = leaving;
  navigator.locks
    .request(name, { signal }, () => {
      lead();
      return new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    })
    .catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
}

/** Nobody is signed in here: another tab, where somebody is, takes the stream. */
function leave(): void {
  leaving.abort();
  channel?.close();
  channel = null;
  source?.close();
  source = null;
  isLeading = false;
}

function heard(message: Message): void {
  if ("asks" in message) {
    if (isLeading) share({ state: connection.value });
  } else if (isLeading) {
    return; // two streams, where there are no locks: each tab hears its own
  } else if ("state" in message) {
    connection.value = message.state;
  } else {
    tell(message.kind, message.data);
  }
}

function share(message: Message): void {
  channel?.postMessage(message);
}

// ── the stream ──

function lead(): void {
  // What happened since the tab that had the stream was closed was heard by nobody.
  wasLost = connection.value !== "idle";
  isLeading = true;
  open();
}

function open(): void {
  if (source || !isLeading) return;
  source = new EventSource(`/kb/events?person=${encodeURIComponent(session.value?.name ?? "")}`);
  source.onopen = () => {
    became("open");
    if (wasLost) pass("reload", {}); // what happened in between may be kept no longer
    wasLost = false;
  };
  source.onerror = () => {
    became("lost");
    wasLost = true;
    if (source?.readyState === EventSource.CLOSED) {
      source = null;
      // A stream that is refused does not say why; a request does, and sees a login that is over.
      void get("/api/session")
        .catch(() => undefined)
        .finally(() => setTimeout(open, 2000));
    }
  };
  for (const kind of KINDS) {
    source.addEventListener(kind, (event) => pass(kind, JSON.parse((event as MessageEvent).data)));
  }
}

function became(state: State): void {
  connection.value = state;
  share({ state });
}

function pass(kind: Kind, data: unknown): void {
  tell(kind, data);
  share({ kind, data });
}
