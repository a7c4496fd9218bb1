// The tokens of some lines of a file, as classes. Bounded: what takes too long stays plain.

import type { Parser, Tree } from "@lezer/common";
import { classHighlighter, highlightTree } from "@lezer/highlight";
import type { Token } from "./drawn";

const MOST_LETTERS = 600_000;
const SLICE_MILLISECONDS = 8;
const MOST_MILLISECONDS = 1500;

/** The tokens of each line after the first `skip`, which only give the parser its bearings. */
export async function tokensOf(parser: Parser, lines: readonly string[], skip: number, signal: AbortSignal): Promise<Token[][] | null> {
  const text = lines.join("\n");
  if (text.length > MOST_LETTERS) return null;
  const tree = await parsed(parser, text, signal);
  if (!tree) return null;
  const starts: number[] = [];
  let start = 0;
  for (const line of lines) {
    starts.push(start);
    start += line.length + 1;
  }
  const tokens: Token[][] = lines.slice(skip).map(() => []);
  let at = skip;
  highlightTree(
    tree,
    classHighlighter,
    (from, to, names) => {
      while (at + 1 < lines.length && starts[at + 1]! <= from) at++;
      for (let line = at; line < lines.length && starts[line]! < to; line++) {
        const begin = Math.max(from - starts[line]!, 0);
        const end = Math.min(to - starts[line]!, lines[line]!.length);
        if (end > begin) tokens[line - skip]!.push({ from: begin, to: end, names });
      }
    },
    starts[skip] ?? 0,
  );
  return tokens;
}

/** Parse in slices, so that scrolling goes on in between. */
async function parsed(parser: Parser, text: string, signal: AbortSignal): Promise<Tree | null> {
  const parse = parser.startParse(text);
  let spent = 0;
  let since = performance.now();
  for (;;) {
    const tree = parse.advance();
    if (tree) return tree;
    const now = performance.now();
    if (now - since < SLICE_MILLISECONDS) continue;
    spent += now - since;
    if (spent > MOST_MILLISECONDS || signal.aborted) return null;
    await new Promise((resolve) => setTimeout(resolve));
    since = performance.now();
  }
}
