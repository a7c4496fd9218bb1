// A change as it reads: its Markdown with the words that go and come.
//
// Both are drawn in one text where the change leaves the structure alone. Where it does not (a heading
// of another level, half a link), no text holds both, and the two stand one below the other.

import { useMemo } from "preact/hooks";
import { signedPieces } from "../note/markdown";
import type { Given } from "../note/preview";
import { drawn } from "../note/preview";
import type { Piece } from "../shell/diff";
import type { RenderedProperties } from "./change";

const STRUCTURE = /[*_`~#|<>!\\$]|^\s*(?:[-+]|\d{1,9}[.)])\s/m;

export default function Rendered({ note, before, pieces, after }: RenderedProperties) {
  return useMemo(() => {
    const around = (own: readonly Piece[]) =>
      drawn(signedPieces([{ kind: "same", text: before }, ...own, { kind: "same", text: after }]), note, WORDS);
    if (isPlain(before, pieces)) return <div class="change-rendered preview">{around(pieces)}</div>;
    return (
      <div class="change-sides">
        <div>
          <p class="change-side-name">Before</p>
          <div class="change-rendered preview">{around(pieces.filter((one) => one.kind !== "inserted"))}</div>
        </div>
        <div>
          <p class="change-side-name">After</p>
          <div class="change-rendered preview">{around(pieces.filter((one) => one.kind !== "deleted"))}</div>
        </div>
      </div>
    );
  }, [note, before, pieces, after]);
}

const WORDS = {
  del: ({ children }: Given) => (
    <del>
      <span class="visually-hidden">deleted: </span>
      {children}
    </del>
  ),
  ins: ({ children }: Given) => (
    <ins>
      <span class="visually-hidden">inserted: </span>
      {children}
    </ins>
  ),
};

/** Whether words that go and words that come can stand in one text. */
function isPlain(before: string, pieces: readonly Piece[]): boolean {
  // With one of the two only, the text is the old or the new one.
  if (!pieces.some((one) => one.kind === "deleted") || !pieces.some((one) => one.kind === "inserted")) return true;
  let isLineStart = before === "" || before.endsWith("\n");
  for (const { kind, text } of pieces) {
    const isWhole = isLineStart && text.endsWith("\n");
    if (kind !== "same" && !isWhole && (STRUCTURE.test(text) || !isBalanced(text))) return false;
    isLineStart = text.endsWith("\n");
  }
  return true;
}

function isBalanced(text: string): boolean {
  let depth = 0;
  for (const sign of text) {
    if (sign === "[") depth++;
    else if (sign === "]" && --depth < 0) return false;
  }
  return depth === 0;
}
