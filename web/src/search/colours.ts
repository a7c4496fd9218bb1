// The tokens of the lines of a file, as classes. Bounded: what takes too long stays plain.
//
// Whether a line is inside a comment or a string is known from the lines before it, all of them. So a
// file is painted from its first line on, a piece after the other, and each piece goes on from the last.

import type { Parser, Tree } from "@lezer/common";
import { TreeFragment } from "@lezer/common";
import { classHighlighter, highlightTree } from "@lezer/highlight";
import type { Token } from "./drawn";

/** A file that is being painted. */
export interface Painting {
  /**
   * The tokens of lines that follow those painted before; null where that would take too long. There may be
   * more at the front: of lines painted before, which what follows has made clearer.
   */
  paint: (lines: readonly string[], isEnd: boolean, signal: AbortSignal) => Promise<Token[][] | null>;
}

/** What closes a comment or string that a text may have left open; some grammars know them whole only. */
export type Closing = (text: string) => string;

const AGAIN = 10; // lines: `(a, b` are parameters if `=> {` follows
const SLICE_MILLISECONDS = 8;
const MOST_MILLISECONDS = 1500;

export class GrammarPainting implements Painting {
  private text = "";
  private added = 0; // letters after the text that the tree covers too
  private tree: Tree | null = null;
  private last: readonly string[] = [];

  constructor(
    private readonly parser: Parser,
    private readonly closing: Closing,
  ) {}

  async paint(lines: readonly string[], isEnd: boolean, signal: AbortSignal): Promise<Token[][] | null> {
    const both = [...this.last, ...lines];
    const from = this.last.reduce((place, line) => place - line.length - 1, this.text.length);
    const text = `${this.text}${lines.join("\n")}\n`;
    const whole = isEnd ? text : text + this.closing(text);
    const tree = await parsed(this.parser, whole, this.known(whole.length), signal);
    if (!tree) return null;
    this.text = text;
    this.added = whole.length - text.length;
    this.tree = tree;
    this.last = both.slice(-AGAIN);
    return tokensOf(tree, both, from, text.length);
  }

  /** What need not be parsed again once the text has grown. */
  private known(length: number): readonly TreeFragment[] {
    if (!this.tree) return [];
    const end = this.text.length;
    return TreeFragment.applyChanges(TreeFragment.addTree(this.tree), [{ fromA: end, toA: end + this.added, fromB: end, toB: length }]);
  }
}

/** The tokens of each of these lines, which are a part of the text of a tree. */
function tokensOf(tree: Tree, lines: readonly string[], from: number, to: number): Token[][] {
  const starts: number[] = [];
  let start = from;
  for (const line of lines) {
    starts.push(start);
    start += line.length + 1;
  }
  const tokens: Token[][] = lines.map(() => []);
  let at = 0;
  highlightTree(
    tree,
    classHighlighter,
    (begin, end, names) => {
      while (at + 1 < lines.length && starts[at + 1]! <= begin) at++;
      for (let line = at; line < lines.length && starts[line]! < end; line++) {
        const first = Math.max(begin - starts[line]!, 0);
        const last = Math.min(end - starts[line]!, lines[line]!.length);
        if (last > first) tokens[line]!.push({ from: first, to: last, names });
      }
    },
    from,
    to,
  );
  return tokens;
}

/** Parse in slices, so that scrolling goes on in between. */
async function parsed(parser: Parser, text: string, known: readonly TreeFragment[], signal: AbortSignal): Promise<Tree | null> {
  const parse = parser.startParse(text, known);
  const slices = new Slices(signal);
  for (;;) {
    const tree = parse.advance();
    if (tree) return tree;
    if (slices.isOver && !(await slices.next())) return null;
  }
}

/** Work in slices of a few milliseconds, of which there are not too many. */
export class Slices {
  private spent = 0;
  private since = performance.now();

  constructor(private readonly signal: AbortSignal) {}

  get isOver(): boolean {
    return performance.now() - this.since >= SLICE_MILLISECONDS;
  }

  /** Let others go first; whether to go on. */
  async next(): Promise<boolean> {
    this.spent += performance.now() - this.since;
    if (this.spent > MOST_MILLISECONDS || this.signal.aborted) return false;
    await new Promise((resolve) => setTimeout(resolve));
    this.since = performance.now();
    return !this.signal.aborted;
  }
}
