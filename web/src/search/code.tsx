// The lines of a file in a box that scrolls. Only the blocks of lines near its window are in the page.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { FoundLine } from "./answer";
import type { Contents } from "./contents";
import { nearMatch } from "./cut_line";
import type { Span } from "./drawn";
import { drawn } from "./drawn";
import { Heights } from "./heights";
import type { FileMatches } from "./matches";
import { matches } from "./matches";

const BLOCK = 25; // lines
const LINE_PIXELS = 20;
const BEYOND = 400; // pixels above and below the window

export interface Range {
  first: number;
  last: number;
}

interface Properties {
  contents: Contents;
  /** The lines of the file that the box holds; browsers cannot make it much higher. */
  from: number;
  to: number;
  chosen: Range | null;
  /** Scroll to this line; a new object scrolls again. */
  reveal: { line: number } | null;
  doesWrap: boolean;
  tab: number;
  label: string;
  onChoose: (line: number, isRange: boolean) => void;
}

export function Code({ contents, from, to, chosen, reveal, doesWrap, tab, label, onChoose }: Properties) {
  const box = useRef<HTMLDivElement>(null);
  const pinned = useRef<number | null>(null);
  const [, redraw] = useState(0);
  const blocks = Math.ceil((to - from + 1) / BLOCK);
  const heights = useMemo(
    () => new Heights(blocks, (at) => Math.min(BLOCK, to - from + 1 - at * BLOCK) * LINE_PIXELS),
    [from, to, doesWrap, tab],
  );
  void contents.version.value;

  useEffect(() => {
    const element = box.current!;
    let frame = 0;
    const look = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        redraw((number) => number + 1);
      });
    };
    const free = () => (pinned.current = null);
    const freeing = ["wheel", "touchmove", "pointerdown", "keydown"] as const;
    element.addEventListener("scroll", look, { passive: true });
    for (const name of freeing) element.addEventListener(name, free, { passive: true });
    const sized = new ResizeObserver(look);
    sized.observe(element);
    return () => {
      element.removeEventListener("scroll", look);
      for (const name of freeing) element.removeEventListener(name, free);
      sized.disconnect();
      cancelAnimationFrame(frame);
    };
  }, []);

  useLayoutEffect(() => {
    pinned.current = reveal?.line ?? null;
    if (reveal) toLine(reveal.line);
    redraw((number) => number + 1);
  }, [reveal, heights]);

  /** Bring a line to the upper third of the box. */
  const toLine = (line: number) => {
    const element = box.current!;
    const at = Math.floor((line - from) / BLOCK);
    const shown = element.querySelector<HTMLElement>(`[data-line="${line}"]`);
    const own = shown ? shown.offsetTop : heights.top(at) + ((line - from) % BLOCK) * LINE_PIXELS;
    element.scrollTop = Math.max(own - element.clientHeight / 3, 0);
  };

  // What is measured above the window must not move what a person reads.
  useLayoutEffect(() => {
    const element = box.current!;
    const anchor = heights.at(element.scrollTop);
    const within = element.scrollTop - heights.top(anchor);
    let isNew = false;
    for (const block of element.querySelectorAll<HTMLElement>("[data-block]")) {
      if (heights.measured(Number(block.dataset["block"]), block.offsetHeight)) isNew = true;
    }
    if (!isNew) {
      const shown = pinned.current === null ? null : element.querySelector<HTMLElement>(`[data-line="${pinned.current}"]`);
      if (pinned.current !== null && !shown) toLine(pinned.current);
      return;
    }
    element.scrollTop = heights.top(anchor) + within;
    if (pinned.current !== null) toLine(pinned.current);
    redraw((number) => number + 1);
  });

  const top = box.current?.scrollTop ?? 0;
  const height = box.current?.clientHeight ?? innerHeight;
  const first = heights.at(Math.max(top - BEYOND, 0));
  const last = Math.min(heights.at(top + height + BEYOND) + 1, blocks);
  const firstLine = from + heights.at(top) * BLOCK;
  const lastLine = Math.min(from + (heights.at(top + height) + 1) * BLOCK - 1, to);
  useEffect(() => {
    if (box.current) contents.want(firstLine, lastLine);
  }, [firstLine, lastLine, contents]);

  const digits = String(to).length;
  const shown = [];
  for (let at = first; at < last; at++) {
    const start = from + at * BLOCK;
    shown.push(
      <Block
        key={at}
        at={at}
        contents={contents}
        version={contents.version.value}
        first={start}
        last={Math.min(start + BLOCK - 1, to)}
        chosen={chosen}
        found={matches.value}
        onChoose={onChoose}
      />,
    );
  }
  return (
    <div
      ref={box}
      class={`code ${doesWrap ? "wraps" : ""} tab-${tab} digits-${Math.min(Math.max(digits, 3), 9)}`}
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <div class="code-lines">
        <div aria-hidden="true" style={{ height: `${heights.top(first)}px` }} />
        {shown}
        <div aria-hidden="true" style={{ height: `${Math.max(heights.total - heights.top(last), 0)}px` }} />
      </div>
    </div>
  );
}

interface BlockProperties {
  at: number;
  contents: Contents;
  version: number;
  first: number;
  last: number;
  chosen: Range | null;
  found: FileMatches;
  onChoose: (line: number, isRange: boolean) => void;
}

const NO_SPANS: readonly Span[] = [];

function Block({ at, contents, version, first, last, chosen, found, onChoose }: BlockProperties) {
  const begin = chosen && chosen.first <= last && chosen.last >= first ? Math.max(chosen.first, first) : 0;
  const end = begin ? Math.min(chosen!.last, last) : 0;
  return useMemo(() => {
    const rows = [];
    for (let number = first; number <= last; number++) {
      const line = contents.line(number);
      const own = found.spans.get(number);
      const cut = found.cut.get(number);
      if (cut) rows.push(<CutMatch key={`cut ${number}`} line={cut} />);
      const isChosen = begin > 0 && number >= begin && number <= end;
      rows.push(
        <div key={number} class={`code-line${isChosen ? " chosen" : ""}${own || cut ? " hit" : ""}`} data-line={number}>
          <a
            class="code-number"
            href={`#L${number}`}
            tabIndex={-1}
            aria-label={`Line ${number}`}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey || event.altKey) return;
              event.preventDefault();
              onChoose(number, event.shiftKey);
            }}
          >
            {number}
          </a>
          <code>
            {line ? drawn(line.text, own ?? NO_SPANS, line.tokens) : "\u00a0"}
            {line?.whole !== undefined && <span class="found-cut">cut, {line.whole.toLocaleString("en")} characters in all</span>}
          </code>
        </div>,
      );
    }
    return (
      <div class="code-block" data-block={at}>
        {rows}
      </div>
    );
  }, [version, first, last, begin, end, found, contents]);
}

/** What was found in a line that is shown in part, on a row above it: the line may be higher than the window. */
function CutMatch({ line }: { line: FoundLine }) {
  const { text, spans, cut } = nearMatch(line);
  return (
    <p class="code-cut">
      <span class="found-cut">{cut}</span> <code>…{drawn(text, spans)}…</code>
    </p>
  );
}
