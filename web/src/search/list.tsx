// What was found, file by file. However long the list: only the lines near the window are in the page.
//
// It scrolls with the page. A file's head sticks below the search box while its lines pass. Lines wrap,
// so that rows differ in height: each is measured when it is shown, and estimated until then.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { place } from "../shell/router";
import { visible } from "../shell/visible";
import { resultAddress } from "./addresses";
import type { FoundFile, FoundLine } from "./answer";
import { parted } from "./cut_line";
import { drawn } from "./drawn";
import { Heights } from "./heights";
import type { Question } from "./question";

const BEYOND = 500; // pixels above and below the window that are in the page too
const LINE_PIXELS = 21;
const HEAD_PIXELS = 35;
const AROUND_PIXELS = 22; // what a file's box has around its head and lines, as in the style sheet
const LETTER_PIXELS = 7.9;

type Row = { file: number; line: FoundLine | null; kind: "head" | "line" | "gap" };

interface Table {
  rows: Row[];
  /** The row of each file's head; one more for the end. */
  starts: number[];
}

function table(files: readonly FoundFile[], hasContext: boolean): Table {
  const rows: Row[] = [];
  const starts: number[] = [];
  files.forEach((file, at) => {
    starts.push(rows.length);
    rows.push({ file: at, line: null, kind: "head" });
    let before = 0;
    for (const line of file.lines) {
      if (hasContext && before && line.line > before + 1) rows.push({ file: at, line: null, kind: "gap" });
      rows.push({ file: at, line, kind: "line" });
      before = line.line;
    }
  });
  starts.push(rows.length);
  return { rows, starts };
}

/** What a person had before them when they left the page, for when they come back. */
let kept: { asked: Question; width: number; heights: Heights; active: number; scroll: number } | null = null;

/** Whether a result of this search was opened or passed before. */
export function isComingBack(asked: Question): boolean {
  return kept !== null && kept.asked === asked && (kept.scroll > 0 || kept.active >= 0);
}

export interface Mover {
  /** Go to the next match (1) or the one before (-1); before the first, `false`. */
  move: (by: 1 | -1) => boolean;
}

interface Properties {
  files: readonly FoundFile[];
  asked: Question;
  mover: { current: Mover | null };
  /** Left above the first match. */
  onLeave: () => void;
}

export function ResultList({ files, asked, mover, onLeave }: Properties) {
  const outer = useRef<HTMLDivElement>(null);
  const wanted = useRef(-1);
  const [, redraw] = useState(0);

  const { rows, starts } = useMemo(() => table(files, asked.context > 0), [files, asked]);
  const [width, setWidth] = useState(() => document.getElementById("main")?.clientWidth ?? innerWidth);
  const heights = useMemo(() => {
    const letters = Math.max((width - 130) / LETTER_PIXELS, 20);
    const estimate = (at: number) => {
      const row = rows[at]!;
      if (row.kind === "head") return HEAD_PIXELS + AROUND_PIXELS;
      return LINE_PIXELS * Math.max(Math.ceil((row.line?.text.length ?? 0) / letters), 1);
    };
    const before = kept?.asked === asked ? kept : null;
    const made = new Heights(rows.length, estimate, before?.width === width ? before.heights : undefined);
    kept = { asked, width, heights: made, active: before?.active ?? -1, scroll: before?.scroll ?? 0 };
    return made;
  }, [rows, width]);

  useLayoutEffect(() => {
    if (!kept || !isComingBack(asked)) return;
    scrollTo({ top: kept.scroll });
    wanted.current = kept.active;
    redraw((number) => number + 1);
  }, []);

  useEffect(() => {
    let frame = 0;
    const look = () => {
      if (kept && place.value.path === "/") kept.scroll = scrollY;
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        redraw((number) => number + 1);
      });
    };
    const resize = () => {
      setWidth(document.getElementById("main")?.clientWidth ?? innerWidth);
      look();
    };
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", resize);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", resize);
      cancelAnimationFrame(frame);
    };
  }, []);

  // How long results take to be seen, for whoever asks the browser: performance.getEntriesByName(…).
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => {
        if (performance.getEntriesByName("flashgrep:answered").length) {
          performance.measure("flashgrep:painted", "flashgrep:answered");
          performance.clearMarks("flashgrep:answered");
        }
      };
      channel.port2.postMessage(null);
    });
    return () => cancelAnimationFrame(frame);
  }, [files]);

  useLayoutEffect(() => {
    let isNew = false;
    for (const element of outer.current?.querySelectorAll<HTMLElement>("[data-row]") ?? []) {
      const at = Number(element.dataset["row"]);
      if (heights.isKnown(at)) continue;
      const height = element.getBoundingClientRect().height;
      const around = rows[at]?.kind === "head" ? AROUND_PIXELS : 0;
      if (height && heights.measured(at, height + around)) isNew = true;
    }
    if (wanted.current >= 0) {
      const link = outer.current?.querySelector<HTMLElement>(`[data-row="${wanted.current}"] a`);
      if (link) {
        wanted.current = -1;
        link.focus({ preventScroll: true });
      }
    }
    if (isNew) redraw((number) => number + 1);
  });

  const reveal = (at: number) => {
    if (!outer.current) return;
    const above = outer.current.getBoundingClientRect().top + scrollY;
    const start = above + heights.top(at);
    const end = above + heights.top(at + 1);
    const stuck = 150; // the top of the page, the box and the file's head
    if (start < scrollY + stuck) scrollTo({ top: Math.max(start - stuck, 0) });
    else if (end > scrollY + innerHeight - 40) scrollTo({ top: end - innerHeight + 80 });
  };
  mover.current = {
    move: (by) => {
      for (let at = (kept?.active ?? -1) + by; at >= 0 && at < rows.length; at += by) {
        if (!rows[at]!.line?.match) continue;
        setActive(at);
        wanted.current = at;
        reveal(at);
        redraw((number) => number + 1);
        return true;
      }
      if (by < 0) {
        setActive(-1);
        onLeave();
      }
      return false;
    },
  };

  const top = outer.current ? -outer.current.getBoundingClientRect().top : 0;
  let first = heights.at(Math.max(top - BEYOND, 0));
  let last = Math.min(heights.at(Math.max(top, 0) + innerHeight + BEYOND) + 1, rows.length);
  if (wanted.current >= 0) {
    first = Math.min(first, wanted.current);
    last = Math.max(last, wanted.current + 1);
  }
  const from = rows[Math.min(first, rows.length - 1)]?.file ?? 0;
  const to = rows[last - 1]?.file ?? -1;

  const groups = [];
  for (let file = from; file <= to; file++) {
    const head = starts[file]!;
    const end = starts[file + 1]!;
    const begin = Math.max(first, head + 1);
    const stop = Math.min(last, end);
    groups.push(
      <div key={file} class="found-file" role="group" aria-labelledby={`found-${file}`}>
        <FileHead number={file} row={head} file={files[file]!} asked={asked} />
        <Space height={heights.top(begin) - heights.top(head + 1)} />
        {rows.slice(begin, stop).map((row, at) => (
          <Line key={begin + at} at={begin + at} row={row} path={files[file]!.path} asked={asked} />
        ))}
        <Space height={heights.top(end) - heights.top(Math.max(stop, begin))} />
      </div>,
    );
  }
  return (
    <div ref={outer} class="found">
      <Space height={heights.top(starts[from] ?? 0)} />
      {groups}
      <Space height={heights.total - heights.top(starts[to + 1] ?? 0)} />
    </div>
  );
}

function setActive(at: number): void {
  if (kept) kept.active = at;
}

function Space({ height }: { height: number }) {
  return height > 0 ? <div aria-hidden="true" style={{ height: `${height}px` }} /> : null;
}

function FileHead({ number, row, file, asked }: { number: number; row: number; file: FoundFile; asked: Question }) {
  const path = file.path.replace(/^kb:\/\//, "");
  const name = path.lastIndexOf("/") + 1;
  const matches = useMemo(() => file.lines.reduce((sum, line) => sum + (line.match ? 1 : 0), 0), [file]);
  const first = file.lines.find((line) => line.match)?.line;
  return (
    <h2 class="found-head" data-row={row} id={`found-${number}`}>
      <a href={resultAddress(file.path, asked, first)}>
        <bdi>
          <span class="found-folder">{visible(path.slice(0, name))}</span>
          {visible(path.slice(name))}
        </bdi>
      </a>
      <span class="badge">
        {matches}
        <span class="visually-hidden"> matching {matches === 1 ? "line" : "lines"}</span>
      </span>
    </h2>
  );
}

interface LineProperties {
  at: number;
  row: Row;
  path: string;
  asked: Question;
}

/** The same elements for the same line: what scrolling does not change is not drawn anew. */
function Line({ at, row, path, asked }: LineProperties) {
  return useMemo(() => (row.line ? lineOf(at, row.line, path, asked) : gapOf(at)), [at, row.line, path, asked]);
}

function gapOf(at: number) {
  return (
    <div class="found-gap" data-row={at} aria-hidden="true">
      …
    </div>
  );
}

function lineOf(at: number, line: FoundLine, path: string, asked: Question) {
  if (!line.match) {
    return (
      <div class="found-line context" data-row={at}>
        <span class="found-number">{line.line}</span>
        <code>{drawn(line.text, [])}</code>
      </div>
    );
  }
  const { text, cut } = parted(line);
  return (
    <div class="found-line" data-row={at} onClick={open}>
      <a
        class="found-number"
        id={`found-number-${at}`}
        aria-labelledby={`found-number-${at} found-text-${at}`}
        href={resultAddress(path, asked, line.line)}
        onFocus={() => setActive(at)}
      >
        {line.line}
      </a>
      <code id={`found-text-${at}`}>{drawn(text, line.spans)}</code>
      {cut && (
        <span class="found-cut" title="Only the part around the first match is shown">
          {cut}
        </span>
      )}
    </div>
  );
}

/** A click beside the number opens the file too, unless it ends a selection of text. */
function open(event: MouseEvent): void {
  const row = event.currentTarget as HTMLElement;
  if ((event.target as Element).closest("a") || !getSelection()?.isCollapsed) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  row.querySelector("a")?.click();
}
