// Suggestions and comments as the note's records hold them: which marks they are, and where.
//
// `records` (a Y.Map beside the text) has id → {"made", "anchors", "value"}; an anchor is
// [client, clock, client, clock], the Yjs names of a mark's first and last character. Positions of
// all of them come from one walk through the text's items; between two walks the editor moves them
// along with what is typed.

import type * as Y from "yjs";

export type MarkKind = "insertion" | "deletion" | "substitution" | "comment" | "highlight";

export interface Mark {
  kind: MarkKind;
  from: number;
  to: number;
  /** After the opener, and metadata if there is any. */
  body: number;
  /** Of a substitution, where its `~>` is. */
  arrow: number;
}

export interface Recorded {
  id: string;
  kind: "suggestion" | "comment";
  author: string;
  time: number;
  /** Of a comment that answers another: that one. */
  answers: string | null;
  spans: [from: number, to: number][];
}

const WIDTH = 3;
const KINDS: Record<string, [MarkKind, string]> = {
  "{++": ["insertion", "++}"],
  "{--": ["deletion", "--}"],
  "{~~": ["substitution", "~~}"],
  "{>>": ["comment", "<<}"],
  "{==": ["highlight", "==}"],
};
const METADATA = /^\{(?:[^{}"\n]|"(?:[^"\\\n]|\\[^\n])*")*\}@@/;
const METADATA_CHARACTERS = 2000;
const MOST_CHARACTERS = 200; // of a name that somebody else chose

/** The mark in a span; null where it no longer reads as one. */
export function markAt(from: number, to: number, slice: (from: number, to: number) => string): Mark | null {
  if (to - from < 2 * WIDTH) return null;
  const known = KINDS[slice(from, from + WIDTH)];
  if (!known || slice(to - WIDTH, to) !== known[1]) return null;
  const [kind] = known;
  const start = from + WIDTH;
  const head = slice(start, Math.min(to - WIDTH, start + METADATA_CHARACTERS));
  const body = start + (METADATA.exec(head)?.[0].length ?? 0);
  const arrow = kind === "substitution" ? slice(body, to - WIDTH).indexOf("~>") : -1;
  if (kind === "substitution" && arrow < 0) return null;
  return { kind, from, to, body, arrow: arrow < 0 ? -1 : body + arrow };
}

/** What accepting a mark takes away… */
export function oldSpan(mark: Mark): [number, number] {
  if (mark.kind === "deletion") return [mark.body, mark.to - WIDTH];
  return mark.kind === "substitution" ? [mark.body, mark.arrow] : [mark.body, mark.body];
}

/** …and what it brings. */
export function newSpan(mark: Mark): [number, number] {
  if (mark.kind === "insertion") return [mark.body, mark.to - WIDTH];
  return mark.kind === "substitution" ? [mark.arrow + 2, mark.to - WIDTH] : [mark.body, mark.body];
}

/** The text of a mark that is neither: delimiters, metadata, arrow. */
export function delimiters(mark: Mark): [number, number][] {
  const ends: [number, number][] = [
    [mark.from, mark.body],
    [mark.to - WIDTH, mark.to],
  ];
  if (mark.arrow >= 0) ends.splice(1, 0, [mark.arrow, mark.arrow + 2]);
  return ends;
}

// ── records ──────────────────────────────────────────────────────────────────────────────────

interface Block {
  clock: number;
  length: number;
  index: number;
}

/** Where characters are, by their Yjs names. */
class Places {
  private readonly blocks = new Map<number, Block[]>();

  constructor(text: Y.Text) {
    let index = 0;
    for (let item = text._start; item; item = item.right) {
      if (item.deleted || !item.countable) continue;
      const { client, clock } = item.id;
      const own = this.blocks.get(client);
      const block = { clock, length: item.length, index };
      if (own) own.push(block);
      else this.blocks.set(client, [block]);
      index += item.length;
    }
    for (const own of this.blocks.values()) own.sort((one, other) => one.clock - other.clock);
  }

  find(client: number, clock: number): number | null {
    const own = this.blocks.get(client) ?? [];
    let low = 0;
    let high = own.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (own[middle]!.clock <= clock) low = middle + 1;
      else high = middle;
    }
    const block = own[low - 1];
    if (!block || clock >= block.clock + block.length) return null;
    return block.index + clock - block.clock;
  }
}

/** The suggestions and comments of a note, from top to bottom. Others may have written nonsense. */
export function recordsOf(records: Y.Map<unknown>, text: Y.Text): Recorded[] {
  if (!records.size) return [];
  const places = new Places(text);
  const found: Recorded[] = [];
  records.forEach((entry, id) => {
    const one = recorded(id, entry, places);
    if (one) found.push(one);
  });
  return found.sort((one, other) => one.spans[0]![0] - other.spans[0]![0]);
}

function recorded(id: string, entry: unknown, places: Places): Recorded | null {
  const { value, anchors } = (entry ?? {}) as { value?: Record<string, unknown>; anchors?: unknown };
  if (!value || typeof value !== "object" || !Array.isArray(anchors)) return null;
  const { kind, author, time, answers } = value;
  if (kind !== "suggestion" && kind !== "comment") return null;
  const spans: [number, number][] = [];
  for (const anchor of anchors as unknown[]) {
    if (!Array.isArray(anchor) || anchor.length !== 4) continue;
    const first = places.find(Number(anchor[0]), Number(anchor[1]));
    const last = places.find(Number(anchor[2]), Number(anchor[3]));
    if (first !== null && last !== null && first <= last) spans.push([first, last + 1]);
  }
  if (!spans.length) return null;
  spans.sort((one, other) => one[0] - other[0]);
  return {
    id,
    kind,
    author: typeof author === "string" ? author.slice(0, MOST_CHARACTERS) : "unknown",
    time: typeof time === "number" && time > 0 && time < 8e15 ? time : 0,
    answers: typeof answers === "string" ? answers : null,
    spans,
  };
}
