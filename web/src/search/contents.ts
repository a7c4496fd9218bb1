// The lines of a file, loaded by windows where they are looked at, with their colours.

import { signal } from "@preact/signals";
import { get, isAbort, Refused, told } from "../shell/api";
import type { Token } from "./drawn";
import type { Painting } from "./colours";
import { paintingOf } from "./languages";

interface FileAnswer {
  path: string;
  start_line: number;
  end_line: number;
  /** null of a large file that was not read to its end. */
  total_lines: number | null;
  lines: string[];
  truncated: boolean;
  cut?: [number, number][];
}

export interface HeldLine {
  text: string;
  tokens: readonly Token[];
  /** How many characters the whole line has, if it is cut. */
  whole: number | undefined;
}

const WINDOW = 2000; // lines of a request, the most that the server gives
const SOME = 300; // of them, how many before the line that is looked at
const BEYOND = 1000; // lines taken to be there after those seen, where nobody has counted
const FEW = 50; // where lines are so long that answers are short
// How far into a file colours go: they need all the lines above, and those are fetched for them.
const MOST_COLOURED = 40_000;
const MOST_LETTERS = 1_000_000;

export class Contents {
  /** Grows with each change, for those who draw. */
  readonly version = signal(0);
  /** How many lines are known to be there; null before the first answer. */
  readonly total = signal<number | null>(null);
  /** Whether there may be more. */
  readonly isOpen = signal(false);
  readonly failure = signal<string | null>(null);
  /** The line from which on nothing is coloured, though the language is known. */
  readonly plainFrom = signal(Number.POSITIVE_INFINITY);
  private readonly held = new Map<number, HeldLine>();
  private readonly ending = new AbortController();
  private isLoading = false;
  private wanted: [number, number] | null = null;
  private isShort = false;
  private painting: Painting | null | undefined; // undefined until the language was looked up
  private painted = 0; // lines, from the first on
  private letters = 0; // in them
  private isPainting = false;

  constructor(readonly path: string) {}

  end(): void {
    this.ending.abort();
  }

  line(number: number): HeldLine | undefined {
    return this.held.get(number);
  }

  /** Have these lines soon; what was wanted before is wanted no more. */
  want(first: number, last: number): void {
    this.wanted = [first, last];
    void this.load();
    void this.paint();
  }

  again(): void {
    this.failure.value = null;
    void this.load();
  }

  private async load(): Promise<void> {
    if (this.isLoading || this.failure.value !== null) return;
    this.isLoading = true;
    try {
      for (let range = this.next(); range; range = this.next()) await this.loadRange(range);
    } catch (error) {
      if (!isAbort(error)) this.failure.value = told(error, this.path);
    } finally {
      this.isLoading = false;
    }
  }

  /** What to ask for: lines that are looked at first, then those above that their colours need. */
  private next(): [number, number] | null {
    const looked = this.missing();
    if (looked || !this.painting || this.painted >= this.goal) return looked;
    let start = this.painted + 1;
    while (start <= this.goal && this.held.has(start)) start++;
    return start <= this.goal ? [start, Math.min(start + WINDOW - 1, this.goal)] : null;
  }

  /** The last line that is to be coloured. */
  private get goal(): number {
    const [first, last] = this.wanted ?? [0, 0];
    return first < this.plainFrom.value ? Math.min(last, this.total.value ?? 0, this.plainFrom.value - 1) : 0;
  }

  /** The first and last line to ask for: around the first that is wanted and not here. */
  private missing(): [number, number] | null {
    if (!this.wanted || this.ending.signal.aborted) return null;
    const last = this.total.value === null || this.isOpen.value ? this.wanted[1] : Math.min(this.wanted[1], this.total.value);
    for (let number = Math.max(this.wanted[0], 1); number <= last; number++) {
      if (this.held.has(number)) continue;
      const isAbove = this.held.has(last); // somebody scrolls up
      const before = this.isShort ? FEW : isAbove || number <= WINDOW - SOME ? WINDOW - SOME : SOME;
      let start = number;
      while (start > 1 && number - start < before && !this.held.has(start - 1)) start--;
      let end = number;
      while (end - start < WINDOW - 1 && !this.held.has(end + 1)) end++;
      return [start, end];
    }
    return null;
  }

  private async loadRange([start, end]: [number, number]): Promise<void> {
    const query = new URLSearchParams({ path: this.path, start: String(start), end: String(end) });
    const answer = await get<FileAnswer>(`/api/file?${query.toString()}`, { signal: this.ending.signal }).catch((error: unknown) => {
      if (start === 1 || this.total.value !== null || !(error instanceof Refused) || error.code !== "invalid_params") throw error;
      return null; // a link to a line past the end
    });
    if (!answer) {
      this.wanted = [1, 1];
      return;
    }
    const cut = new Map(answer.cut ?? []);
    answer.lines.forEach((text, at) => {
      const number = answer.start_line + at;
      this.held.set(number, { text, tokens: [], whole: cut.get(number) });
    });
    const got = answer.start_line + answer.lines.length - 1;
    const isEnd = answer.total_lines === null && got < end && !answer.truncated;
    this.isShort ||= answer.truncated;
    this.isOpen.value = answer.total_lines === null && !isEnd;
    this.total.value = answer.total_lines ?? (isEnd ? got : Math.max(got + BEYOND, this.total.value ?? 0));
    if (!answer.lines.length && start <= this.total.value) throw new Error(`The server gave no lines from line ${start} on`);
    this.version.value++;
    void this.paint();
  }

  /** Colour what is here as far as it is looked at, from the first line on. */
  private async paint(): Promise<void> {
    if (this.isPainting) return;
    this.isPainting = true;
    try {
      if (this.painting === undefined) {
        this.painting = await paintingOf(this.path);
        if (this.painting) this.plainFrom.value = MOST_COLOURED + 1;
      }
      while (this.painting && this.painted < this.goal && !this.ending.signal.aborted) {
        if (!(await this.paintPiece(this.painting))) break;
      }
    } catch {
      this.stopPainting(); // the text is whole without colours
    } finally {
      this.isPainting = false;
    }
    if (this.painting && this.painted < this.goal) void this.load();
  }

  /** Colour the lines after the last that is coloured; whether there were any. */
  private async paintPiece(painting: Painting): Promise<boolean> {
    const lines: string[] = [];
    const first = this.painted + 1;
    for (let line = this.held.get(first); line && lines.length < WINDOW; line = this.held.get(first + lines.length)) {
      if (line.whole !== undefined) break; // what a cut line hides may open a comment
      lines.push(line.text);
      this.letters += line.text.length;
    }
    const next = first + lines.length;
    const isEnd = !this.isOpen.value && next > (this.total.value ?? 0);
    if (this.letters > MOST_LETTERS || (!lines.length && this.held.has(first))) this.stopPainting();
    if (!lines.length || this.letters > MOST_LETTERS) return false;
    const tokens = await painting.paint(lines, isEnd, this.ending.signal);
    if (this.ending.signal.aborted) return false;
    if (!tokens) {
      this.stopPainting();
      return false;
    }
    tokens.forEach((own, at) => {
      const number = next - tokens.length + at;
      const line = this.held.get(number);
      if (line) this.held.set(number, { ...line, tokens: own });
    });
    this.painted += lines.length;
    this.version.value++;
    return true;
  }

  private stopPainting(): void {
    this.plainFrom.value = this.painted + 1;
    this.painting = null;
  }
}
