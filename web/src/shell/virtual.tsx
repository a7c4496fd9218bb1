// A list of any length: only the rows near the window are in the page.
//
// Rows have different heights. Each is measured when it is shown; until then it counts as high as
// `estimate` says. The list scrolls with the page, not in a box of its own.

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
  label: string;
  /** "list" unless the rows bring their own roles. */
  role?: "list" | "presentation";
}

export function VirtualList<Row>(properties: Properties<Row>) {
  const { rows, id, estimate, children, reveal, label, role = "list" } = properties;
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

  // Measure what is shown; what turns out higher or lower than thought moves the rest.
  useLayoutEffect(() => {
    let isNew = false;
    for (const element of outer.current?.children ?? []) {
      const name = (element as HTMLElement).dataset["row"];
      const height = element.getBoundingClientRect().height;
      if (name !== undefined && height && Math.abs((heights.current.get(name) ?? -1) - height) > 0.5) {
        heights.current.set(name, height);
        isNew = true;
      }
    }
    if (isNew) redraw((count) => count + 1);
  });

  useLayoutEffect(() => {
    if (!reveal || !outer.current) return;
    const at = rows.findIndex((row) => id(row) === reveal.id);
    if (at < 0) return;
    const above = outer.current.getBoundingClientRect().top + scrollY;
    const start = above + offsets[at]!;
    const end = above + offsets[at + 1]!;
    const head = 120; // what sticks to the top of the window
    if (start < scrollY + head) scrollTo({ top: Math.max(start - head, 0) });
    else if (end > scrollY + innerHeight) scrollTo({ top: Math.min(end - innerHeight + 40, start - head) });
  }, [reveal]);

  const shown = rows.slice(first, last);
  return (
    <div ref={outer} role={role} aria-label={label} class="virtual">
      <Spacer height={offsets[first] ?? 0} />
      {shown.map((row, at) => (
        <div key={id(row)} data-row={id(row)} role={role === "list" ? "listitem" : undefined} aria-setsize={rows.length} aria-posinset={first + at + 1}>
          {children(row, first + at)}
        </div>
      ))}
      <Spacer height={total - (offsets[last] ?? total)} />
    </div>
  );
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
