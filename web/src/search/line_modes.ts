// Languages without a grammar of their own: modes that go from line to line, in a few KB each.

import type { Painting } from "./colours";
import { Slices } from "./colours";
import type { Token } from "./drawn";

interface Mode<State> {
  startState?: (indentUnit: number) => State;
  token: (stream: LineStream, state: State) => string | null;
  blankLine?: (state: State, indentUnit: number) => void;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyMode = Mode<any>;

const INDENT = 4;

export class ModePainting implements Painting {
  private readonly state: unknown;

  constructor(private readonly mode: AnyMode) {
    this.state = mode.startState?.(INDENT) ?? {};
  }

  async paint(lines: readonly string[], _: boolean, signal: AbortSignal): Promise<Token[][] | null> {
    const tokens: Token[][] = [];
    const slices = new Slices(signal);
    for (const line of lines) {
      tokens.push(tokensIn(this.mode, line, this.state));
      if (slices.isOver && !(await slices.next())) return null;
    }
    return tokens;
  }
}

function tokensIn(mode: AnyMode, line: string, state: unknown): Token[] {
  const own: Token[] = [];
  if (!line) {
    mode.blankLine?.(state, INDENT);
    return own;
  }
  const stream = new LineStream(line);
  while (!stream.eol()) {
    stream.start = stream.pos;
    let kind = mode.token(stream, state);
    // Some modes change their state first and advance at the next call.
    for (let tries = 0; stream.pos === stream.start && tries < 10; tries++) kind = mode.token(stream, state);
    if (stream.pos === stream.start) stream.pos++;
    if (kind) own.push({ from: stream.start, to: stream.pos, names: named(kind) });
  }
  return own;
}

const CLASSES: Record<string, string> = {
  def: "definition",
  builtin: "typeName",
  type: "typeName",
  tag: "typeName",
  attribute: "propertyName",
  property: "propertyName",
  qualifier: "className",
  header: "heading",
  error: "meta",
};

/** "variable-2 keyword" and "string.special" as the classes that grammars have too. */
function named(kind: string): string {
  return kind
    .split(" ")
    .map((one) => {
      const plain = one.split(/[.-]/)[0]!;
      return `tok-${CLASSES[plain] ?? plain}`;
    })
    .join(" ");
}

type Test = string | RegExp | ((letter: string) => boolean);

/** The line that a mode reads, with the methods that modes call. */
export class LineStream {
  pos = 0;
  start = 0;
  readonly indentUnit = INDENT;
  readonly tabSize = INDENT;

  constructor(readonly string: string) {}

  eol(): boolean {
    return this.pos >= this.string.length;
  }

  sol(): boolean {
    return this.pos === 0;
  }

  peek(): string | undefined {
    return this.string.charAt(this.pos) || undefined;
  }

  next(): string | undefined {
    return this.pos < this.string.length ? this.string.charAt(this.pos++) : undefined;
  }

  eat(test: Test): string | undefined {
    const letter = this.string.charAt(this.pos);
    if (!letter) return undefined;
    const isIt = typeof test === "string" ? letter === test : test instanceof RegExp ? test.test(letter) : test(letter);
    if (!isIt) return undefined;
    this.pos++;
    return letter;
  }

  eatWhile(test: Test): boolean {
    const before = this.pos;
    while (this.eat(test) !== undefined);
    return this.pos > before;
  }

  eatSpace(): boolean {
    return this.eatWhile(/\s/);
  }

  skipToEnd(): void {
    this.pos = this.string.length;
  }

  skipTo(letter: string): boolean {
    const found = this.string.indexOf(letter, this.pos);
    if (found < 0) return false;
    this.pos = found;
    return true;
  }

  backUp(count: number): void {
    this.pos -= count;
  }

  column(): number {
    return this.start;
  }

  indentation(): number {
    return /^\s*/.exec(this.string)![0].length;
  }

  match(pattern: string | RegExp, consume = true, ignoreCase = false): boolean | RegExpMatchArray | null {
    if (typeof pattern === "string") {
      const part = this.string.slice(this.pos, this.pos + pattern.length);
      const isIt = ignoreCase ? part.toLowerCase() === pattern.toLowerCase() : part === pattern;
      if (!isIt) return null;
      if (consume) this.pos += pattern.length;
      return true;
    }
    const found = this.string.slice(this.pos).match(pattern);
    if (!found || found.index !== 0) return null;
    if (consume) this.pos += found[0].length;
    return found;
  }

  current(): string {
    return this.string.slice(this.start, this.pos);
  }

  lookAhead(): string | null {
    return null;
  }
}
