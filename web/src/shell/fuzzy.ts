// Fuzzy matching of paths: all letters in their order; better where they begin words or the name.
//
// A `Finder` holds many paths and looks for letters in slices of a few milliseconds, so that typing stays
// fluent with any number of them. A mask of the letters in each path rules most of them out at once, and
// letters typed after others are only looked for where those were found.

export interface Found {
  text: string;
  score: number;
  /** Indices of the letters that matched. */
  at: number[];
}

export function fuzzy(wanted: string, text: string): Found | null {
  return best(lettersOf(wanted), text, lowered(text));
}

function lettersOf(wanted: string): string {
  return lowered(wanted.replace(/\s+/g, ""));
}

/** Small letters, with each where it was: of a few letters `toLowerCase` makes two. */
function lowered(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return Array.from({ length: text.length }, (_, at) => {
    const one = text[at]!.toLowerCase();
    return one.length === 1 ? one : text[at]!;
  }).join("");
}

function best(letters: string, text: string, lower: string): Found | null {
  const name = text.lastIndexOf("/") + 1;
  return matched(letters, lower, name, text) ?? (name > 0 ? matched(letters, lower, 0, text) : null);
}

function matched(letters: string, lower: string, from: number, text: string): Found | null {
  // A run of all the letters is what people mean most of the time.
  const run = letters.length > 1 ? runOf(letters, lower, from) : -1;
  const at: number[] = [];
  let score = from > 0 || text.lastIndexOf("/") < 0 ? 12 : 0;
  let place = from;
  for (let number = 0; number < letters.length; number++) {
    const found = run >= 0 ? run + number : lower.indexOf(letters[number]!, place);
    if (found < 0) return null;
    if (found === place && at.length) score += 6;
    if (found === 0 || isBetween(lower.charCodeAt(found - 1))) score += 8;
    at.push(found);
    place = found + 1;
  }
  if (run >= 0) score += 10;
  return { text, score: score - text.length * 0.05, at };
}

/** Where the letters stand together, rather at the beginning of a word. */
function runOf(letters: string, lower: string, from: number): number {
  const first = lower.indexOf(letters, from);
  for (let at = first; at >= 0; at = lower.indexOf(letters, at + 1)) {
    if (at === 0 || isBetween(lower.charCodeAt(at - 1))) return at;
  }
  return first;
}

const BETWEEN = new Set([..."/ _.-"].map((one) => one.charCodeAt(0)));

function isBetween(code: number): boolean {
  return BETWEEN.has(code);
}

export function ranked(wanted: string, texts: readonly string[], most: number): Found[] {
  const letters = lettersOf(wanted);
  const found = new Best(most);
  for (const text of texts) found.add(best(letters, text, lowered(text)));
  return found.list;
}

/** The best few of many, in order. */
class Best {
  readonly list: Found[] = [];

  constructor(private readonly most: number) {}

  add(one: Found | null): void {
    if (!one) return;
    const { list } = this;
    const last = list.at(-1);
    if (list.length >= this.most && last && !isBefore(one, last)) return;
    let at = list.length;
    while (at > 0 && isBefore(one, list[at - 1]!)) at--;
    list.splice(at, 0, one);
    if (list.length > this.most) list.pop();
  }
}

function isBefore(one: Found, other: Found): boolean {
  return one.score !== other.score ? one.score > other.score : one.text < other.text;
}

const SLICE_MILLISECONDS = 6;
const STEP = 256; // paths between two looks at the clock

export class Finder {
  private readonly lower: string[] = [];
  private readonly masks: Int32Array;
  private before: { letters: string; at: Int32Array } | null = null;

  constructor(readonly texts: readonly string[]) {
    this.masks = new Int32Array(texts.length);
  }

  /** The best paths that have the letters; null if the signal said to stop. */
  async find(wanted: string, most: number, signal: AbortSignal): Promise<Found[] | null> {
    const letters = lettersOf(wanted);
    const mask = maskOf(letters);
    const narrowed = this.before && letters.startsWith(this.before.letters) ? this.before.at : null;
    const count = narrowed ? narrowed.length : this.texts.length;
    const found = new Best(most);
    const has = new Int32Array(count);
    let length = 0;
    let until = performance.now() + SLICE_MILLISECONDS;
    for (let number = 0; number < count; number++) {
      if (number % STEP === 0 && performance.now() > until) {
        await new Promise((resolve) => setTimeout(resolve));
        if (signal.aborted) return null;
        until = performance.now() + SLICE_MILLISECONDS;
      }
      const at = narrowed ? narrowed[number]! : number;
      const lower = this.prepared(at);
      if ((this.masks[at]! & mask) !== mask) continue;
      const one = best(letters, this.texts[at]!, lower);
      if (!one) continue;
      has[length++] = at;
      found.add(one);
    }
    this.before = { letters, at: has.subarray(0, length) };
    return found.list;
  }

  private prepared(at: number): string {
    const known = this.lower[at];
    if (known !== undefined) return known;
    const lower = lowered(this.texts[at]!);
    this.lower[at] = lower;
    this.masks[at] = maskOf(lower);
    return lower;
  }
}

/** A bit for each letter that is there; letters share bits, so that a mask rules out and never in. */
function maskOf(text: string): number {
  let mask = 0;
  for (let at = 0; at < text.length; at++) mask |= 1 << (text.charCodeAt(at) & 31);
  return mask;
}
