// Tabs beside the editor, by the pattern for tabs: arrows choose, Tab goes into the content.

import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

const LEAST_SEEN = 200; // pixels of the content of a tab
const DONE = ["wheel", "touchmove", "keydown", "pointerdown"];

export interface TabContent {
  id: string;
  name: string;
  count: number;
  content: () => ComponentChildren;
}

/**
 * Brings the content of a tab into sight: on a narrow page it is below the editor. And keeps it there
 * until the person does something else: the text of the note may still be loading.
 */
function useReveal(list: RefObject<HTMLElement | null>): () => void {
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    if (!asked) return undefined;
    const ending = new AbortController();
    const watching = new ResizeObserver(() => {
      const { top, height } = list.current!.getBoundingClientRect();
      if (top + height + LEAST_SEEN > innerHeight) list.current!.scrollIntoView({ block: "start" });
    });
    watching.observe(document.body);
    ending.signal.addEventListener("abort", () => watching.disconnect());
    for (const done of DONE) addEventListener(done, () => ending.abort(), { signal: ending.signal, capture: true });
    return () => ending.abort();
  }, [asked]);
  return () => setAsked(asked + 1);
}

export function Panel({ tab, tabs, onTab }: { tab: string; tabs: readonly TabContent[]; onTab: (id: string) => void }) {
  const list = useRef<HTMLDivElement>(null);
  const shown = tabs.find((one) => one.id === tab) ?? tabs[0]!;
  const move = (step: number) => {
    const at = tabs.indexOf(shown);
    const next = tabs[(at + step + tabs.length) % tabs.length]!;
    onTab(next.id);
    list.current?.querySelector<HTMLElement>(`#tab-${next.id}`)?.focus();
  };
  const reveal = useReveal(list);
  return (
    <aside class="note-panel" aria-label="About this note">
      <div
        ref={list}
        role="tablist"
        aria-label="About this note"
        class="tabs"
        onKeyDown={(event) => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (!step) return;
          event.preventDefault();
          move(step);
        }}
      >
        {tabs.map((one) => (
          <button
            key={one.id}
            type="button"
            role="tab"
            id={`tab-${one.id}`}
            aria-selected={one === shown}
            aria-controls="note-panel"
            tabIndex={one === shown ? 0 : -1}
            onClick={() => {
              onTab(one.id);
              reveal();
            }}
          >
            {one.name}
            {one.count > 0 && <span class="badge">{one.count}</span>}
          </button>
        ))}
      </div>
      <div id="note-panel" role="tabpanel" aria-labelledby={`tab-${shown.id}`} tabIndex={0} class="panel-content">
        {shown.content()}
      </div>
    </aside>
  );
}
