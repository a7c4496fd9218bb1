// The review page: what agents and people suggest, for a person to decide.

import type { VNode } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { inUrl } from "../shell/api";
import { useShortcuts } from "../shell/keys";
import { Menu } from "../shell/menu";
import { NotesMissing } from "../shell/missing";
import { leaving } from "../shell/router";
import { session } from "../shell/session";
import { VirtualList } from "../shell/virtual";
import { BulkBar } from "./bulk";
import { Card } from "./card";
import { isRendered, setRendered } from "./change";
import { move, reveal } from "./cursor";
import { drafts, followDecisions, settled } from "./decisions";
import { selected } from "./selection";
import { asked, clearFilters, isFiltered } from "./filters";
import { PastDialog, PastList } from "./past";
import { Questions } from "./questions";
import { loadSeen } from "./seen";
import type { Group, Suggestion } from "./suggestions";
import { failure, follow, isLoading, listed, load } from "./suggestions";
import { allItems, focusText, Toolbar } from "./toolbar";
import {
  accept,
  askReason,
  chosen,
  decideAll,
  open,
  openEditor,
  openNote,
  reject,
  shownCards,
  shownGroups,
  takeBackLast,
  toggle,
  withCurrent,
} from "./work";

type Row = { id: string; group: Group; one: null } | { id: string; group: Group; one: Suggestion };

export default function Page() {
  if (session.value && !session.value.notes) {
    return (
      <p class="empty">
        This server has no notes, so there is nothing to review. <NotesMissing />
      </p>
    );
  }
  return <Review />;
}

function Review() {
  const question = asked.value;
  useEffect(() => {
    loadSeen();
    const ends = [follow(), followDecisions()];
    leaving.add(unsaved);
    addEventListener("beforeunload", askBefore);
    return () => {
      ends.forEach((end) => end());
      leaving.delete(unsaved);
      removeEventListener("beforeunload", askBefore);
    };
  }, []);
  useEffect(() => void load(true), [question]);
  useKeys();
  return (
    <div class="review">
      <Toolbar />
      {failure.value && (
        <p class="problem" role="alert">
          {failure.value}{" "}
          <button type="button" onClick={() => void load()}>
            Try again
          </button>
        </p>
      )}
      {shownCards.value.length ? <Cards /> : !isLoading.value && !failure.value && <Empty />}
      <BulkBar />
      <Questions />
      <PastDialog />
    </div>
  );
}

function unsaved(): string | null {
  const isChanged = [...drafts.value].some(([id, text]) => text !== listed.value.get(id)?.new);
  return isChanged ? "A text that you edited is not accepted yet. Leave the page without it?" : null;
}

function askBefore(event: Event): void {
  if (unsaved()) event.preventDefault();
}

// ── the list ─────────────────────────────────────────────────────────────────────────────────────

function Cards() {
  const groups = shownGroups.value;
  const rows = useMemo(
    () =>
      groups.flatMap((group): Row[] => [
        { id: `note ${group.note}`, group, one: null },
        ...group.suggestions.map((one): Row => ({ id: one.id, group, one })),
      ]),
    [groups],
  );
  return (
    <VirtualList rows={rows} id={(row) => row.id} estimate={estimate} sticks={(row) => !row.one} reveal={reveal.value} label="Suggestions">
      {(row) => (row.one ? cardOf(row.one) : <Head group={row.group} />)}
    </VirtualList>
  );
}

/** The same element for the same suggestion: scrolling then draws nothing anew. */
const cards = new WeakMap<Suggestion, VNode>();

function cardOf(one: Suggestion): VNode {
  let found = cards.get(one);
  if (!found) cards.set(one, (found = <Card one={one} />));
  return found;
}

const LINE = 22;
const LETTERS = 90; // in a line

function estimate(row: Row): number {
  if (!row.one) return 52;
  if (settled.peek().has(row.id)) return 58;
  const { old, new: fresh, context } = row.one;
  const letters = Math.min(old.length + fresh.length + context.before.length + context.after.length, 5000);
  return 140 + Math.ceil(letters / LETTERS) * LINE;
}

function Head({ group }: { group: Group }) {
  const waiting = open(group.suggestions);
  const count = group.suggestions.filter((one) => !settled.value.has(one.id)).length;
  const folder = group.note.slice(0, group.note.lastIndexOf("/") + 1);
  return (
    <div class="group-head">
      <h2>
        <a href={`/notes/${inUrl(group.note)}`}>
          {folder && <span class="group-folder">{folder}</span>}
          <span>{group.note.slice(folder.length)}</span>
        </a>
      </h2>
      <span class="badge" title={`${count} pending`}>
        {count.toLocaleString("en")}
      </span>
      {waiting.size > 1 && (
        <Menu items={allItems(waiting)} label={`Decide all ${waiting.size.toLocaleString("en")} in ${group.note}`} class="quiet">
          <span class="wide-word">Decide all</span>
          <span class="narrow-word">All</span> {waiting.size.toLocaleString("en")} <span aria-hidden="true">▾</span>
        </Menu>
      )}
    </div>
  );
}

function Empty() {
  if (isFiltered.value) {
    return (
      <div class="empty">
        <p>Nothing matches these filters.</p>
        <button type="button" onClick={clearFilters}>
          Show all
        </button>
      </div>
    );
  }
  return (
    <>
      <div class="empty">
        <p class="empty-sign" aria-hidden="true">
          ✓
        </p>
        <p class="empty-title">Nothing waits for a decision</p>
        <p class="muted">What an agent suggests for a note appears here by itself.</p>
      </div>
      <section class="past-section" aria-labelledby="past-title">
        <h2 id="past-title">Your last decisions</h2>
        <PastList most={10} />
      </section>
    </>
  );
}

// ── keys ─────────────────────────────────────────────────────────────────────────────────────────

function useKeys(): void {
  useShortcuts("Review", [
    { keys: ["j"], does: "Next suggestion", run: () => move(shownCards.value, 1) },
    { keys: ["k"], does: "Previous suggestion", run: () => move(shownCards.value, -1) },
    { keys: ["a"], does: "Accept", run: () => withCurrent((id) => accept(id)) },
    { keys: ["r"], does: "Reject", run: () => withCurrent((id) => reject(id)) },
    { keys: ["Shift+R"], does: "Reject with a reason", run: () => withCurrent(askReason) },
    { keys: ["e"], does: "Edit, then accept", run: () => withCurrent(openEditor) },
    { keys: ["u"], does: "Undo your last decision", run: takeBackLast },
    { keys: ["x"], does: "Select", run: () => withCurrent(toggle) },
    { keys: ["Shift+A"], does: "Accept what is selected", run: () => decideAll(chosen.value, "accept") },
    { keys: ["v"], does: "Show source or rendered", run: () => setRendered(!isRendered.value) },
    { keys: ["o"], does: "Open the note", run: openNote },
    { keys: ["Ctrl+Enter"], does: "In a text: accept it, or send the comment", run: () => undefined },
    { keys: ["/"], does: "Filter by text", run: focusText },
    { keys: ["Escape"], does: "Clear the selection", run: () => (selected.value = new Map()) },
  ]);
}
