// A list of any length: only the rows near the window are in the page.
//
// Rows have different heights. Each is measured while it is shown; until then it counts as high as
// `estimate` says. The list scrolls with the page, not in a box of its own. A row that sticks (the
// head of a group) stays in the page as long as rows below it are shown.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const BEYOND = 600; // pixels above and below the window that are kept in the page

interface Properties<Row> {
  rows: readonly Row[];
  id: (row: Row) => string;
  estimate: (row: Row) => number;
  children: (row: Row, at: number) => ComponentChildren;
  /** Scroll so that this row is seen; a new object scrolls again. */
  reveal?: { id: string } | null;
  /** Rows that stay at the top while those after them are scrolled by; CSS has the place. */
  sticks?: (row: Row) => boolean;
  label: string;
  /** "list" unless the rows bring their own roles. */
  role?: "list" | "presentation";
}

export function VirtualList<Row>(properties: Properties<Row>) {
  const { rows, id, estimate, children, reveal, sticks, label, role = "list" } = properties;
  const outer = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string, number>());
  const [, redraw] = useState(0);

  const offsets = new Float64Array(rows.length + 1);
  rows.forEach((row, at) => {
    offsets[at + 1] = offsets[at]! + (heights.current.get(id(row)) ?? estimate(row));
  });
  const total = offsets[rows.length] ?? 0;

  const top = outer.current ? -outer.current.getBoundingClientRect().top : 0;
  const first = Math.max(search(offsets, top - BEYOND) - 1, 0);
  const last = Math.min(search(offsets, top + innerHeight + BEYOND), rows.length);
  const stuck = sticks ? lastBefore(rows, first, sticks) : -1;

  useEffect(() => {
    let asked = 0;
    const look = () => {
      asked ||= requestAnimationFrame(() => {
        asked = 0;
        redraw((count) => count + 1);
      });
    };
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
      cancelAnimationFrame(asked);
    };
  }, []);

  // What turns out higher or lower than thought moves the rest. The observer speaks before the page is painted.
  const observer = useRef<ResizeObserver | null>(null);
  observer.current ??= new ResizeObserver((entries) => {
    let isNew = false;
    for (const entry of entries) {
      const name = (entry.target as HTMLElement).dataset["row"];
      const height = entry.borderBoxSize[0]?.blockSize ?? 0;
      if (name === undefined || !height || Math.abs((heights.current.get(name) ?? -1) - height) <= 0.5) continue;
      heights.current.set(name, height);
      isNew = true;
    }
    if (isNew) redraw((count) => count + 1);
  });
  useEffect(() => () => observer.current?.disconnect(), []);

  useLayoutEffect(() => {
    if (!reveal || !outer.current) return;
    const at = rows.findIndex((row) => id(row) === reveal.id);
    if (at < 0) return;
    const above = outer.current.getBoundingClientRect().top + scrollY;
    const start = above + offsets[at]!;
    const end = above + offsets[at + 1]!;
    const head = 120; // what sticks to the top of the window
    const foot = 72; // and to its bottom
    if (start < scrollY + head) scrollTo({ top: Math.max(start - head, 0) });
    else if (end > scrollY + innerHeight - foot) scrollTo({ top: Math.min(end - innerHeight + foot, start - head) });
  }, [reveal]);

  const drawn = (at: number) => (
    <Row
      key={`row ${id(rows[at]!)}`}
      name={id(rows[at]!)}
      role={role}
      size={rows.length}
      place={at + 1}
      class={sticks?.(rows[at]!) ? "sticky-row" : undefined}
      observer={observer.current!}
    >
      {children(rows[at]!, at)}
    </Row>
  );
  // One list of children, so that a row which begins to stick stays the same element.
  const shown = [<Spacer key="above" height={offsets[stuck >= 0 ? stuck : first] ?? 0} />];
  if (stuck >= 0) {
    shown.push(drawn(stuck), <Spacer key="between" height={offsets[first]! - offsets[stuck + 1]!} />);
  }
  for (let at = first; at < last; at++) shown.push(drawn(at));
  shown.push(<Spacer key="below" height={total - (offsets[last] ?? total)} />);
  return (
    <div ref={outer} role={role} aria-label={role === "list" ? label : undefined} class="virtual">
      {shown}
    </div>
  );
}

interface RowProperties {
  name: string;
  role: string;
  size: number;
  place: number;
  class: string | undefined;
  observer: ResizeObserver;
  children: ComponentChildren;
}

function Row({ name, role, size, place, class: extra, observer, children }: RowProperties) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const own = element.current!;
    observer.observe(own);
    return () => observer.unobserve(own);
  }, [observer]);
  const isList = role === "list";
  return (
    <div
      ref={element}
      data-row={name}
      class={extra}
      role={isList ? "listitem" : undefined}
      aria-setsize={isList ? size : undefined}
      aria-posinset={isList ? place : undefined}
    >
      {children}
    </div>
  );
}

/** The last row before a place that sticks; -1 where there is none. */
function lastBefore<Row>(rows: readonly Row[], place: number, sticks: (row: Row) => boolean): number {
  let at = place - 1;
  while (at >= 0 && !sticks(rows[at]!)) at--;
  return at < place ? at : -1;
}

function Spacer({ height }: { height: number }) {
  const element = useRef<HTMLDivElement>(null);
  // By the object model: a style attribute would need a hole in the content security policy.
  useLayoutEffect(() => {
    if (element.current) element.current.style.height = `${height}px`;
  }, [height]);
  return <div ref={element} aria-hidden="true" />;
}

/** The first index whose offset is beyond a value. */
function search(offsets: Float64Array, value: number): number {
  let low = 0;
  let high = offsets.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (offsets[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
