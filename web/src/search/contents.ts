// The lines of a file, loaded by windows where they are looked at, with their colours.

import { signal } from "@preact/signals";
import { get, isAbort, Refused, told } from "../shell/api";
import type { Token } from "./drawn";
import { painterOf } from "./languages";

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

export class Contents {
  /** Grows with each change, for those who draw. */
  readonly version = signal(0);
  /** How many lines are known to be there; null before the first answer. */
  readonly total = signal<number | null>(null);
  /** Whether there may be more. */
  readonly isOpen = signal(false);
  readonly failure = signal<string | null>(null);
  private readonly held = new Map<number, HeldLine>();
  private readonly ending = new AbortController();
  private isLoading = false;
  private wanted: [number, number] | null = null;
  private isShort = false;

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
  }

  again(): void {
    this.failure.value = null;
    void this.load();
  }

  private async load(): Promise<void> {
    if (this.isLoading || this.failure.value !== null) return;
    this.isLoading = true;
    try {
      for (let range = this.missing(); range; range = this.missing()) await this.loadRange(range);
    } catch (error) {
      if (!isAbort(error)) this.failure.value = told(error);
    } finally {
      this.isLoading = false;
    }
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
    void this.colour(answer.start_line, answer.lines.length);
  }

  private async colour(start: number, count: number): Promise<void> {
    const painter = await painterOf(this.path).catch(() => null);
    if (!painter || this.ending.signal.aborted) return;
    let first = start;
    while (first > 1 && start - first < WINDOW && this.held.has(first - 1)) first--;
    const lines: string[] = [];
    for (let number = first; number < start + count; number++) lines.push(this.held.get(number)?.text ?? "");
    const tokens = await painter(lines, start - first, this.ending.signal).catch(() => null);
    if (!tokens || this.ending.signal.aborted) return;
    tokens.forEach((own, at) => {
      const line = this.held.get(start + at);
      if (line) this.held.set(start + at, { ...line, tokens: own });
    });
    this.version.value++;
  }
}
