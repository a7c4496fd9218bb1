// What changed between two texts, word by word, for display.
//
// Words, runs of space and single signs are compared by Myers' algorithm. Its cost grows with the
// number of differences, so those are bounded: texts with more are compared by their lines, and lines
// beyond that bound count as wholly changed. The same texts always give the same pieces.

export interface Piece {
  kind: "same" | "deleted" | "inserted";
  text: string;
}

const MOST_DIFFERENCES = 400;
const MOST_LETTERS = 60_000; // of both texts; beyond, dividing them into words alone takes too long
const LEAST_IN_COMMON = 0.2; // below, the pieces in common are chance, and only disturb

// Scripts without spaces go by characters; an emoji with its joiners, and two letters of a flag, are one.
const MARK = "[\\uFE0F\\u20E3\\u{1F3FB}-\\u{1F3FF}]*";
const TOKENS = new RegExp(
  [
    "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}]\\p{M}*",
    "[\\p{L}\\p{N}_][\\p{L}\\p{M}\\p{N}_]*",
    "\\n",
    "[^\\S\\n]+",
    "\\p{RI}\\p{RI}",
    `\\p{Extended_Pictographic}${MARK}(?:\\u200D\\p{Extended_Pictographic}${MARK})*`,
    "[^]\\p{M}*",
  ].join("|"),
  "gu",
);

export function wordDiff(old: string, fresh: string): Piece[] {
  if (old === fresh) return pieces([["same", old]]);
  if (!old || !fresh) return pieces([["deleted", old], ["inserted", fresh]]);
  const isShort = old.length + fresh.length <= MOST_LETTERS;
  const found = (isShort && compared(tokens(old), tokens(fresh))) || byLines(old, fresh);
  return tidy(found, Math.max(old.length, fresh.length));
}

function tokens(text: string): string[] {
  return text.match(TOKENS) ?? [];
}

function byLines(old: string, fresh: string): Piece[] {
  const lines = /[^\n]*\n|[^\n]+/g;
  return (
    compared(old.match(lines) ?? [], fresh.match(lines) ?? []) ?? pieces([["deleted", old], ["inserted", fresh]])
  );
}

function pieces(given: [Piece["kind"], string][]): Piece[] {
  return given.filter(([, text]) => text).map(([kind, text]) => ({ kind, text }));
}

/** The differences of two lists; null where there are too many. */
function compared(old: readonly string[], fresh: readonly string[]): Piece[] | null {
  let start = 0;
  const shorter = Math.min(old.length, fresh.length);
  while (start < shorter && old[start] === fresh[start]) start++;
  let end = 0;
  while (end < shorter - start && old[old.length - 1 - end] === fresh[fresh.length - 1 - end]) end++;
  const middle = shortest(old.slice(start, old.length - end), fresh.slice(start, fresh.length - end));
  if (!middle) return null;
  return joined([
    { kind: "same", text: old.slice(0, start).join("") },
    ...middle,
    { kind: "same", text: old.slice(old.length - end).join("") },
  ]);
}

/** Myers' shortest edit script, walked back from the end through the furthest points of each round. */
function shortest(old: readonly string[], fresh: readonly string[]): Piece[] | null {
  const most = Math.min(old.length + fresh.length, MOST_DIFFERENCES);
  const furthest = new Int32Array(2 * most + 3);
  const middle = most + 1;
  const rounds: Int32Array[] = [];
  for (let round = 0; round <= most; round++) {
    rounds.push(furthest.slice(middle - round - 1, middle + round + 2));
    for (let line = -round; line <= round; line += 2) {
      const down = line === -round || (line !== round && furthest[middle + line - 1]! < furthest[middle + line + 1]!);
      let x = down ? furthest[middle + line + 1]! : furthest[middle + line - 1]! + 1;
      let y = x - line;
      while (x < old.length && y < fresh.length && old[x] === fresh[y]) {
        x++;
        y++;
      }
      furthest[middle + line] = x;
      if (x >= old.length && y >= fresh.length) return walked(old, fresh, rounds);
    }
  }
  return null;
}

function walked(old: readonly string[], fresh: readonly string[], rounds: readonly Int32Array[]): Piece[] {
  const back: Piece[] = [];
  let x = old.length;
  let y = fresh.length;
  for (let round = rounds.length - 1; round >= 0; round--) {
    const before = rounds[round]!;
    const at = (line: number) => before[line + round + 1]!;
    const line = x - y;
    const down = line === -round || (line !== round && at(line - 1) < at(line + 1));
    const from = down ? line + 1 : line - 1;
    const fromX = round ? at(from) : 0;
    const fromY = round ? fromX - from : 0;
    while (x > fromX && y > fromY) {
      back.push({ kind: "same", text: old[--x]! });
      y--;
    }
    if (!round) break;
    if (down) back.push({ kind: "inserted", text: fresh[--y]! });
    else back.push({ kind: "deleted", text: old[--x]! });
  }
  return back.reverse();
}

/** Neighbours of one kind become one; between two pieces in common first what is deleted. */
function joined(found: readonly Piece[]): Piece[] {
  const result: Piece[] = [];
  let deleted = "";
  let inserted = "";
  const flush = () => {
    result.push(...pieces([["deleted", deleted], ["inserted", inserted]]));
    deleted = inserted = "";
  };
  for (const one of found) {
    if (!one.text) continue;
    if (one.kind === "deleted") deleted += one.text;
    else if (one.kind === "inserted") inserted += one.text;
    else {
      flush();
      const last = result.at(-1);
      if (last?.kind === "same") last.text += one.text;
      else result.push({ ...one });
    }
  }
  flush();
  return result;
}

/** A space or sign alone between changes reads better as part of them, and so does chance. */
function tidy(found: readonly Piece[], length: number): Piece[] {
  const common = found.reduce((sum, one) => sum + (one.kind === "same" ? one.text.trim().length : 0), 0);
  const isChance = common < length * LEAST_IN_COMMON;
  const isChange = (at: number) => found[at] !== undefined && found[at].kind !== "same";
  const merged = found.flatMap((one, at): Piece[] => {
    const isSmall = one.kind === "same" && isChange(at - 1) && isChange(at + 1) && /^[^\p{L}\p{N}\n]{1,3}$/u.test(one.text);
    const isLost = isChance && one.kind === "same" && at > 0 && at < found.length - 1;
    if (!isSmall && !isLost) return [one];
    return [
      { kind: "deleted", text: one.text },
      { kind: "inserted", text: one.text },
    ];
  });
  return joined(merged);
}
