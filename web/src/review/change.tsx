// What a suggestion changes, word by word, with the lines around it: as source, or rendered.

import { signal } from "@preact/signals";
import type { ComponentChildren, ComponentType } from "preact";
import { useState } from "preact/hooks";
import type { Piece } from "../shell/diff";
import { wordDiff } from "../shell/diff";
import { visible } from "../shell/visible";
import type { Suggestion } from "./suggestions";

const LINES_AROUND = 3;
const LONGEST = 4000; // characters of a change that are shown before somebody asks for all
const LONG_SAME = 600; // of text in common between two changes
const SAME_KEPT = 200;

const REMEMBERED = "flashgrep.review.rendered";
export const isRendered = signal(localStorage.getItem(REMEMBERED) === "true");

export function setRendered(value: boolean): void {
  isRendered.value = value;
  localStorage.setItem(REMEMBERED, String(value));
}

/** The Markdown parser is loaded when somebody first wants it. */
export interface RenderedProperties {
  note: string;
  before: string;
  pieces: readonly Piece[];
  after: string;
}
const rendering = signal<ComponentType<RenderedProperties> | null>(null);
let isAsked = false;

function loadRendering(): void {
  if (isAsked) return;
  isAsked = true;
  import("./rendered").then(
    (module) => (rendering.value = module.default),
    () => (isAsked = false),
  );
}

const computed = new WeakMap<Suggestion, Piece[]>();

export function piecesOf(one: Suggestion): Piece[] {
  let found = computed.get(one);
  if (!found) computed.set(one, (found = wordDiff(one.old, one.new)));
  return found;
}

export function Change({ one }: { one: Suggestion }) {
  const [isWhole, setWhole] = useState(false);
  const all = piecesOf(one);
  const [pieces, isCut] = isWhole ? [all, false] : clipped(all);
  const before = linesBefore(one.context.before);
  const after = linesAfter(one.context.after);
  if (isRendered.value) loadRendering();
  const Rendered = isRendered.value ? rendering.value : null;
  return (
    <div class="change">
      {Rendered ? (
        <Rendered note={one.note} before={before} pieces={pieces} after={after} />
      ) : (
        <pre class="change-source" dir="auto">
          <span class="around">{lines(before)}</span>
          <Pieces pieces={pieces} />
          <span class="around">{lines(after)}</span>
        </pre>
      )}
      {isCut && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show the whole change ({Math.max(one.old.length, one.new.length).toLocaleString("en")} characters)
        </button>
      )}
    </div>
  );
}

export function Pieces({ pieces }: { pieces: readonly Piece[] }) {
  return (
    <>
      {pieces.map((piece, at) => {
        if (piece.kind === "same") return lines(piece.text);
        const Tag = piece.kind === "deleted" ? "del" : "ins";
        return (
          <Tag key={at}>
            <span class="visually-hidden">{piece.kind}: </span>
            {lines(shownSpace(piece.text))}
          </Tag>
        );
      })}
    </>
  );
}

/** Text as it is; what hides in it, or turns it around, is shown by its number. */
function lines(text: string): ComponentChildren {
  return text.split("\n").flatMap((line, at) => (at ? ["\n", visible(line)] : [visible(line)]));
}

/** Space alone is seen only by signs in its place. */
function shownSpace(text: string): string {
  if (/\S/.test(text)) return text.replace(/^\n+|\n+$/g, (ends) => ends.replaceAll("\n", "↵\n"));
  return text.replaceAll(" ", "·").replaceAll("\t", "→\t").replaceAll("\n", "↵\n");
}

/** Long text in common is shortened, and a long change cut. */
export function clipped(all: readonly Piece[]): [Piece[], boolean] {
  const shown: Piece[] = [];
  let left = LONGEST;
  let isCut = false;
  for (const [at, piece] of all.entries()) {
    let text = piece.text;
    if (piece.kind === "same" && text.length > LONG_SAME) {
      const start = at > 0 ? text.slice(0, SAME_KEPT) : "";
      const end = at < all.length - 1 ? text.slice(-SAME_KEPT) : "";
      text = `${start}\n…\n${end}`;
      isCut = true;
    }
    if (text.length > left) {
      text = `${text.slice(0, left)}…`;
      isCut = true;
    }
    if (left > 0) shown.push({ kind: piece.kind, text });
    else isCut = true;
    left -= text.length;
  }
  return [shown, isCut];
}

function linesBefore(text: string): string {
  const lines = text.split("\n");
  const kept = lines.slice(-LINES_AROUND - 1);
  while (kept.length > 1 && !kept[0]!.trim()) kept.shift();
  const isCut = kept.length === lines.length && text.length >= 200; // begins within a line
  return (isCut ? "…" : "") + kept.join("\n");
}

function linesAfter(text: string): string {
  const lines = text.split("\n");
  const kept = lines.slice(0, LINES_AROUND + 1);
  while (kept.length > 1 && !kept.at(-1)!.trim()) kept.pop();
  const isCut = kept.length === lines.length && text.length >= 200;
  return kept.join("\n") + (isCut ? "…" : "");
}
