// A note that is open: its Yjs document, the connection to the server, and what is saved of it.
//
// The server handles what a connection sends in order, and has written an update to its journal
// before it goes on to the next message. So the answer to "what do I lack" (sync step 1) says that
// all that was sent before the question is saved. It is asked a moment after typing, one question at
// a time. On a new connection both sides first say what they have; what was typed without one goes
// out as the answer to the server's question, so nothing counts as saved before that.

import { signal } from "@preact/signals";
import { WebsocketProvider } from "y-websocket";
import * as Y from "yjs";
import { get, inUrl, isSignedOut } from "../shell/api";
import { loadSession, mayOn, session } from "../shell/session";
import { whereIs } from "./filing";
import type { Kept } from "./kept";
import { allKept, forget, keep, keyOf } from "./kept";

// Messages of y-websocket: sync, and in it what I have, what you lack.
const SYNC = 0;
const HAVE = 0;
const LACK = 1;

const ASK_AFTER = 120; // milliseconds after a change
const KEEP_AFTER = 400; // that a change may be unsaved before this browser keeps it
const SLOW_AFTER = 5000; // milliseconds without an answer, after which it says so
const WHOLE_UP_TO = 100_000; // characters of a note that is kept whole; writing more is felt

export type SaveState = "saved" | "saving" | "unsaved";

/** Why the server ended the connection for good. */
export const CLOSED = {
  4401: "signed-out",
  4403: "forbidden",
  4404: "gone",
  4409: "anew",
  4413: "too-large",
} as const;
export type Closed = (typeof CLOSED)[keyof typeof CLOSED];

/** Why the server ended the connection for now; the provider tries again by itself. */
const TROUBLE: Readonly<Record<number, string>> = {
  1003: "the server did not understand this page; reload it",
  1007: "the server did not understand this page; reload it",
  1011: "the server cannot open the note now",
  1013: "the server is busy",
};
const PLAIN_REASON = "overloaded; come again"; // says no more than the code

export interface Passage {
  start: number;
  end: number;
  quote: string;
}

export interface Opened {
  path: string;
  epoch: string;
  text: string;
}

export class LiveNote {
  readonly doc = new Y.Doc();
  readonly text = this.doc.getText("contents");
  readonly records = this.doc.getMap<unknown>("records");
  readonly undo: Y.UndoManager;
  readonly provider: WebsocketProvider;

  readonly path = signal("");
  readonly isLoaded = signal(false);
  readonly connection = signal<"connecting" | "open" | "lost">("connecting");
  readonly closed = signal<Closed | null>(null);
  /** What is wrong with a server that answers; empty where it does not, or nothing is. */
  readonly trouble = signal("");
  readonly saved = signal<SaveState>("saved");
  /** Whether unsaved text outlives a reload. */
  readonly isKept = signal(false);
  /** Text of a former document of this note that could not be taken over. */
  readonly leftOver = signal<Kept[]>([]);
  /** Where a note is now that was at this path, and for which unsaved text is kept. */
  readonly elsewhere = signal<string[]>([]);

  private changes = 0; // made here
  private settledChanges = 0; // of these, how many are saved
  private questions: number[] = []; // to the server on this connection: `changes` when each was asked
  private hasGiven = false; // whether this connection has sent what the server lacked
  private unsaved: Uint8Array[] = [];
  private askTimer = 0;
  private keepTimer = 0;
  private slowTimer = 0;
  private isSlow = false;
  private restored: string[] = [];
  private waiting = new Set<() => void>();
  private isLeft = false;
  isOver = false;
  private ends: (() => void)[] = [];

  constructor(
    readonly epoch: string,
    path: string,
    readonly person: string,
  ) {
    this.path.value = path;
    this.undo = new Y.UndoManager(this.text, { captureTimeout: 400 });
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.provider = new WebsocketProvider(`${scheme}//${location.host}/kb/ws`, inUrl(path), this.doc, {
      disableBc: true,
      connect: false,
      params: { epoch, person },
    });
    const handle = this.provider.messageHandlers[SYNC]!;
    this.provider.messageHandlers[SYNC] = (encoder, decoder, ...rest) => {
      const kind = decoder.arr[decoder.pos];
      this.heard();
      handle(encoder, decoder, ...rest);
      if (kind === LACK) this.answered();
      if (kind === HAVE) {
        this.hasGiven = true; // the provider sends the answer when this handler returns
        this.askSoon();
      }
    };
    this.provider.on("status", ({ status }) => {
      if (status === "connected") {
        this.questions = [-1]; // the provider asks first, before anything was given
        this.hasGiven = false;
      } else if (status === "disconnected") this.lost();
    });
    this.provider.on("connection-close", (event) => {
      const reason = event?.code === 1013 && event.reason !== PLAIN_REASON ? event.reason : "";
      this.lost();
      this.trouble.value = reason || (TROUBLE[event?.code ?? 0] ?? "");
    });
    this.provider.on("closed", ({ code }) => this.ended(code));
    this.doc.on("update", this.changed);
    this.ends.push(
      () => removeEventListener("online", this.retry),
      () => removeEventListener("beforeunload", this.warn),
      () => removeEventListener("pagehide", this.keepNow),
      isSignedOut.subscribe((isOut) => {
        if (!isOut && this.closed.value === "signed-out") this.resume();
      }),
    );
    addEventListener("online", this.retry);
    addEventListener("beforeunload", this.warn);
    addEventListener("pagehide", this.keepNow);
    this.provider.connect();
  }

  // ── what is saved ───────────────────────────────────────────────────────────────────────────

  private changed = (update: Uint8Array, origin: unknown): void => {
    if (origin === this.provider) return;
    this.changes++;
    this.unsaved.push(update);
    if (this.unsaved.length > 500) this.unsaved = [Y.mergeUpdates(this.unsaved)];
    this.showSaved();
    this.askSoon();
    this.keepTimer ||= window.setTimeout(this.keepNow, KEEP_AFTER);
  };

  private askSoon(): void {
    this.askTimer ||= window.setTimeout(() => {
      this.askTimer = 0;
      this.ask();
    }, ASK_AFTER);
  }

  private ask(): void {
    const socket = this.provider.ws;
    if (!this.hasGiven || this.questions.length || !socket || socket.readyState !== WebSocket.OPEN) return;
    if (this.settledChanges === this.changes) return;
    socket.send(question(this.doc));
    this.questions.push(this.changes);
  }

  private answered(): void {
    const asked = this.questions.shift() ?? -1;
    if (asked < 0) {
      // The first answer on a connection: the document is what the server has, and what we typed.
      if (!this.isLoaded.value) this.load();
      this.askSoon();
      return;
    }
    this.notSlow();
    this.settledChanges = Math.max(this.settledChanges, asked);
    if (this.settledChanges === this.changes) this.allSaved();
    else this.askSoon();
    this.showSaved();
  }

  private allSaved(): void {
    this.unsaved = [];
    clearTimeout(this.keepTimer);
    this.keepTimer = 0;
    if (this.isKept.value) forget(this.keptAs);
    this.isKept.value = false;
    this.restored.splice(0).forEach(forget);
    this.waiting.forEach((go) => go());
    this.waiting.clear();
    if (this.isLeft) this.destroy();
  }

  private showSaved(): void {
    const isSaved = this.settledChanges === this.changes;
    const isOpen = this.connection.value === "open" && this.closed.value === null;
    this.saved.value = isSaved ? "saved" : isOpen && !this.isSlow ? "saving" : "unsaved";
    if (this.saved.value === "saving") this.slowTimer ||= window.setTimeout(this.slow, SLOW_AFTER);
  }

  // A network that went away ends no connection: the provider sees it after half a minute.
  private slow = (): void => {
    this.isSlow = true;
    this.trouble.value = "the server does not answer";
    this.showSaved();
  };

  private notSlow(): void {
    clearTimeout(this.slowTimer);
    this.slowTimer = 0;
    if (this.isSlow) this.trouble.value = "";
    this.isSlow = false;
  }

  /** Wait until what was typed is saved, but not for ever. */
  async settled(milliseconds = 2000): Promise<void> {
    if (this.saved.value === "saved") return;
    await new Promise<void>((go) => {
      this.waiting.add(go);
      setTimeout(() => {
        this.waiting.delete(go);
        go();
      }, milliseconds);
    });
  }

  // ── kept in this browser ────────────────────────────────────────────────────────────────────

  private get keptAs(): string {
    return keyOf(this.person, this.doc.clientID, this.path.value);
  }

  private keepNow = (): void => {
    clearTimeout(this.keepTimer);
    this.keepTimer = 0;
    if (this.isOver || this.settledChanges === this.changes) return;
    this.unsaved = [Y.mergeUpdates(this.unsaved)];
    this.isKept.value = keep(this.keptAs, this.epoch, this.unsaved[0]!, this.words(this.unsaved[0]!));
  };

  /** What to show of unsaved changes where they cannot be applied. */
  private words(update: Uint8Array): string {
    if (this.text.length <= WHOLE_UP_TO) return this.text.toString();
    const { structs } = Y.decodeUpdate(update);
    return structs.flatMap((one) => ("content" in one && one.content instanceof Y.ContentString ? one.content.str : [])).join("");
  }

  private load(): void {
    const mayWrite = mayOn("write", this.path.peek());
    for (const kept of allKept(this.person, this.path.value, this.epoch)) {
      // Of one who may only read any more the server would not take it, and end the connection.
      if (kept.epoch === this.epoch && mayWrite) {
        try {
          Y.applyUpdate(this.doc, kept.update, "kept");
          this.restored.push(kept.key);
          continue;
        } catch {
          // Not an update: its text is offered instead.
        }
      }
      void this.offerKept(kept);
    }
    this.isLoaded.value = true;
  }

  private async offerKept(kept: Kept): Promise<void> {
    const found = kept.epoch === this.epoch ? null : await whereIs(kept.epoch).catch(() => null);
    if (found && !found.trash && found.epoch !== this.epoch) {
      this.elsewhere.value = [...new Set([...this.elsewhere.value, found.path])];
      return;
    }
    if (kept.text === this.text.toString()) return forget(kept.key);
    const others = this.leftOver.value.filter((one) => one.text !== kept.text);
    this.leftOver.value = [...others, kept];
  }

  discardLeftOver(): void {
    this.leftOver.value.forEach((one) => one.key && forget(one.key));
    this.leftOver.value = [];
  }

  private warn = (event: BeforeUnloadEvent): void => {
    if (this.saved.value !== "saved") event.preventDefault();
  };

  // ── the connection ──────────────────────────────────────────────────────────────────────────

  /** The server speaks: a connection that it accepts only to end it was none. */
  private heard(): void {
    if (this.connection.peek() === "open") return;
    this.connection.value = "open";
    this.trouble.value = "";
    this.showSaved();
  }

  private lost(): void {
    this.notSlow();
    this.questions = [];
    this.hasGiven = false;
    this.connection.value = "lost";
    this.showSaved();
  }

  private ended(code: number): void {
    this.closed.value = CLOSED[code as keyof typeof CLOSED] ?? "forbidden";
    this.showSaved();
    this.keepNow();
    if (this.closed.value === "signed-out") isSignedOut.value = true;
    // Another role than the page knows of, then: it says so.
    if (this.closed.value === "forbidden") void loadSession().catch(() => undefined);
  }

  private retry = (): void => {
    if (this.provider.ws === null && this.closed.value === null) {
      this.provider.wsUnsuccessfulReconnects = 0;
      this.provider.connect();
    }
  };

  /** Connect again after the server has ended it. */
  resume(): void {
    this.closed.value = null;
    this.connection.value = "connecting";
    this.provider.wsUnsuccessfulReconnects = 0;
    this.provider.connect();
  }

  /** The note is at another path now; the document is the same. */
  follow(path: string): void {
    if (this.isKept.value) forget(this.keptAs);
    this.path.value = path;
    if (this.isKept.value) this.keepNow();
    this.provider.disconnect();
    this.provider.roomname = inUrl(path);
    this.resume();
  }

  /** The page is left: end as soon as all is saved. */
  leave(): void {
    this.isLeft = true;
    this.provider.awareness.setLocalState(null);
    if (this.saved.value === "saved") this.destroy();
  }

  /** End now: what is unsaved is kept elsewhere. */
  end(): void {
    this.keepNow();
    this.destroy();
  }

  /** Follow a passage while others type; gives where it is now, null where nothing is left of it. */
  passage(from: number, to: number): () => Passage | null {
    const first = Y.createRelativePositionFromTypeIndex(this.text, from, 0);
    const last = Y.createRelativePositionFromTypeIndex(this.text, to, -1);
    const index = (place: Y.RelativePosition) => Y.createAbsolutePositionFromRelativePosition(place, this.doc)?.index ?? 0;
    return () => {
      const [start, end] = [index(first), index(last)];
      return start < end ? { start, end, quote: this.text.toString().slice(start, end) } : null;
    };
  }

  /** Text of a former document, for the person to take over by hand. */
  offerText(text: string): void {
    this.leftOver.value = [{ key: "", epoch: "", update: new Uint8Array(), text }];
  }

  private destroy(): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.askTimer);
    clearTimeout(this.keepTimer);
    clearTimeout(this.slowTimer);
    this.ends.splice(0).forEach((end) => end());
    this.undo.destroy();
    this.provider.destroy();
    this.doc.destroy();
  }
}

/** The message that asks the server for what this document lacks. */
function question(doc: Y.Doc): Uint8Array<ArrayBuffer> {
  const state = Y.encodeStateVector(doc);
  const size: number[] = [];
  let rest = state.length;
  for (; rest > 127; rest >>>= 7) size.push((rest & 127) | 128);
  size.push(rest);
  return Uint8Array.from([SYNC, HAVE, ...size, ...state]);
}

/** Open a note; fails as `GET /kb/notes/{path}` does. */
export async function open(path: string): Promise<LiveNote> {
  const note = await get<Opened>(`/kb/notes/${inUrl(path)}`);
  if (!session.value) await loadSession();
  return new LiveNote(note.epoch, note.path, session.value?.name ?? "");
}
