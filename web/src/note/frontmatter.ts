// What a note says about itself before its text: `---` in the first line up to the next line `---`,
// as the server has it. It is shown as it is written; Markdown would make a heading of it.

const FENCE = /^---[ \t]*$/;
const MOST_LINES = 500; // more is no frontmatter that anybody wrote

/** How many lines it has, by a way to read them from 0 on; 0 where there is none. */
export function frontmatterLines(lineAt: (number: number) => string | null): number {
  for (let number = 0; number < MOST_LINES; number++) {
    const line = lineAt(number);
    if (line === null || (number === 0 && !FENCE.test(line))) return 0;
    if (number > 0 && FENCE.test(line)) return number + 1;
  }
  return 0;
}

/** Where the text begins; 0 without frontmatter. */
export function frontmatterEnd(text: string): number {
  let at = 0;
  const lines = frontmatterLines(() => {
    if (at > text.length) return null;
    const end = text.indexOf("\n", at);
    const line = text.slice(at, end < 0 ? text.length : end);
    at = end < 0 ? text.length + 1 : end + 1;
    return line;
  });
  return lines ? Math.min(at, text.length) : 0;
}
