// Suggestions and comments drawn in the text: the old struck out, the new underlined, delimiters out
// of sight unless the cursor is in them. Only what is visible is read and decorated.

import type { EditorState, Extension, Range } from "@codemirror/state";
import { Facet, StateEffect, StateField } from "@codemirror/state";
import type { Command, DecorationSet, Tooltip, ViewUpdate } from "@codemirror/view";
import { Decoration, EditorView, hoverTooltip, showTooltip, ViewPlugin, WidgetType } from "@codemirror/view";
import { exactTime } from "../shell/age";
import type { Mark, Recorded } from "./marks";
import { delimiters, markAt, newSpan, oldSpan } from "./marks";

/** A suggestion as the text shows it now. */
export interface Suggestion {
  id: string;
  author: string;
  time: number;
  from: number;
  to: number;
  old: string;
  new: string;
}

export interface MarkActions {
  card: (suggestion: Suggestion) => { dom: HTMLElement; destroy: () => void };
  openComment: (id: string) => void;
  accept: (suggestion: Suggestion) => void;
  reject: (suggestion: Suggestion) => void;
  edit: (suggestion: Suggestion) => void;
}

export const markActions = Facet.define<MarkActions, MarkActions | null>({
  combine: (given) => given[0] ?? null,
});

export const setRecords = StateEffect.define<Recorded[]>();

/** The records of the note, moved along with every change. */
export const records = StateField.define<Recorded[]>({
  create: () => [],
  update(held, transaction) {
    for (const effect of transaction.effects) if (effect.is(setRecords)) return effect.value;
    if (!transaction.docChanged || !held.length) return held;
    const { changes } = transaction;
    const moved: Recorded[] = [];
    for (const one of held) {
      const spans = one.spans
        .map(([from, to]): [number, number] => [changes.mapPos(from, 1), changes.mapPos(to, -1)])
        .filter(([from, to]) => from < to);
      if (spans.length) moved.push({ ...one, spans });
    }
    return moved;
  },
});

function reader(state: EditorState): (from: number, to: number) => string {
  return (from, to) => state.sliceDoc(from, to);
}

function marksOf(state: EditorState, one: Recorded): Mark[] {
  const read = reader(state);
  return one.spans.flatMap(([from, to]) => markAt(from, Math.min(to, state.doc.length), read) ?? []);
}

function described(state: EditorState, one: Recorded): Suggestion | null {
  const marks = marksOf(state, one).filter((mark) => mark.kind !== "comment" && mark.kind !== "highlight");
  const [first] = marks;
  if (!first) return null;
  return {
    id: one.id,
    author: one.author,
    time: one.time,
    from: first.from,
    to: marks[marks.length - 1]!.to,
    old: marks.map((mark) => state.sliceDoc(...oldSpan(mark))).join(""),
    new: marks.map((mark) => state.sliceDoc(...newSpan(mark))).join(""),
  };
}

/** All suggestions, from top to bottom. */
export function suggestionsIn(state: EditorState): Suggestion[] {
  return state.field(records).flatMap((one) => (one.kind === "suggestion" ? (described(state, one) ?? []) : []));
}

/** The first suggestion at a place, or one that shares a character with a stretch of text. */
export function suggestionAt(state: EditorState, from: number, to = from): Suggestion | null {
  const isWithin = (start: number, end: number) => (from === to ? start <= from && from <= end : start < to && from < end);
  for (const one of state.field(records)) {
    const last = one.spans[one.spans.length - 1]!;
    if (one.kind !== "suggestion" || !isWithin(one.spans[0]![0], last[1])) continue;
    const found = described(state, one);
    if (found && isWithin(found.from, found.to)) return found;
  }
  return null;
}

/** Where a comment or suggestion stands now. */
export function placeOf(state: EditorState, id: string): { from: number; to: number } | null {
  const one = state.field(records).find((each) => each.id === id);
  if (!one) return null;
  return { from: one.spans[0]![0], to: one.spans[one.spans.length - 1]![1] };
}

// ── drawing ──────────────────────────────────────────────────────────────────────────────────

class CommentSign extends WidgetType {
  constructor(
    readonly id: string,
    readonly author: string,
  ) {
    super();
  }

  override eq(other: CommentSign): boolean {
    return other.id === this.id;
  }

  override toDOM(view: EditorView): HTMLElement {
    const sign = document.createElement("span");
    sign.className = "cm-comment-sign";
    sign.setAttribute("role", "img");
    sign.setAttribute("aria-label", `Comment by ${this.author}`);
    sign.onmousedown = (event) => {
      event.preventDefault();
      view.state.facet(markActions)?.openComment(this.id);
    };
    return sign;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

const hidden = Decoration.replace({});
const dimmed = Decoration.mark({ class: "cm-delimiter" });
const commented = Decoration.mark({ class: "cm-commented" });
const commentText = Decoration.mark({ class: "cm-comment-text" });

function draw(view: EditorView): DecorationSet {
  const { state } = view;
  const found: Range<Decoration>[] = [];
  const read = reader(state);
  const selected = view.hasFocus ? state.selection.ranges : [];
  for (const visible of view.visibleRanges) {
    for (const one of state.field(records)) {
      if (one.spans[0]![0] > visible.to || one.spans[one.spans.length - 1]![1] < visible.from) continue;
      for (const [from, to] of one.spans) {
        if (from > visible.to || to < visible.from) continue;
        const mark = markAt(from, to, read);
        if (mark) drawMark(found, one, mark, selected.some((range) => range.from <= to && range.to >= from), state);
      }
    }
  }
  return Decoration.set(found, true);
}

function drawMark(found: Range<Decoration>[], one: Recorded, mark: Mark, isTouched: boolean, state: EditorState): void {
  if (mark.kind === "comment") {
    const text = state.sliceDoc(mark.from, mark.to);
    if (isTouched || text.includes("\n")) found.push(commentText.range(mark.from, mark.to));
    else found.push(Decoration.replace({ widget: new CommentSign(one.answers ?? one.id, one.author) }).range(mark.from, mark.to));
    return;
  }
  for (const [from, to] of delimiters(mark)) {
    if (from === to) continue;
    if (isTouched || state.sliceDoc(from, to).includes("\n")) found.push(dimmed.range(from, to));
    else found.push(hidden.range(from, to));
  }
  if (mark.kind === "highlight") {
    if (mark.body < mark.to - 3) found.push(commented.range(mark.body, mark.to - 3));
    return;
  }
  const who = `Suggested by ${one.author}${one.time ? `, ${exactTime(one.time)}` : ""}`;
  for (const [span, tagName] of [
    [oldSpan(mark), "del"],
    [newSpan(mark), "ins"],
  ] as const) {
    if (span[0] < span[1]) {
      found.push(
        Decoration.mark({ tagName, attributes: { "aria-description": who, "data-suggestion": one.id } }).range(...span),
      );
    }
  }
}

const drawing = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = draw(view);
    }
    update(update: ViewUpdate) {
      const isNew = update.transactions.some((one) => one.effects.some((effect) => effect.is(setRecords)));
      if (update.docChanged || update.viewportChanged || update.selectionSet || update.focusChanged || isNew) {
        this.decorations = draw(update.view);
      }
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

// ── the card of a suggestion ─────────────────────────────────────────────────────────────────

function cardFor(suggestion: Suggestion): Tooltip {
  return {
    pos: suggestion.from,
    end: suggestion.to,
    above: false,
    arrow: false,
    create: (view) => view.state.facet(markActions)!.card(suggestion),
  };
}

/** At the cursor… */
const cursorCard = StateField.define<{ key: string; tooltip: Tooltip } | null>({
  create: () => null,
  update(held, transaction) {
    const { state } = transaction;
    const isSame = !transaction.docChanged && !transaction.selection && !transaction.effects.some((one) => one.is(setRecords));
    if (isSame) return held;
    const { main } = state.selection;
    const found = main.empty ? suggestionAt(state, main.head) : null;
    if (!found || !state.facet(markActions)) return null;
    // A card decides on what it was made for: with other words there is another one.
    const key = [found.id, found.from, found.to, found.old, found.new].join(" ");
    return held?.key === key ? held : { key, tooltip: cardFor(found) };
  },
  provide: (field) => showTooltip.from(field, (held) => held?.tooltip ?? null),
});

/** …and under the mouse. */
const hoverCard = hoverTooltip(
  (view, at) => {
    const found = suggestionAt(view.state, at);
    if (!found || view.state.field(cursorCard)?.key.startsWith(`${found.id} `)) return null;
    return cardFor(found);
  },
  { hoverTime: 250, hideOnChange: true },
);

// ── commands ─────────────────────────────────────────────────────────────────────────────────

export function toSuggestion(step: 1 | -1): Command {
  return (view) => {
    const all = suggestionsIn(view.state);
    if (!all.length) {
      view.dispatch({ effects: EditorView.announce.of("This note has no pending suggestion.") });
      return true;
    }
    const at = view.state.selection.main.head;
    const here = suggestionAt(view.state, at)?.id;
    const next =
      step > 0
        ? (all.find((one) => one.from > at && one.id !== here) ?? all[0]!)
        : (all.findLast((one) => one.to < at && one.id !== here) ?? all[all.length - 1]!);
    goTo(view, next);
    return true;
  };
}

export function goTo(view: EditorView, one: Suggestion): void {
  const inside = Math.min(one.from + 3, one.to);
  view.dispatch({
    selection: { anchor: inside },
    effects: [
      EditorView.scrollIntoView(one.from, { y: "center" }),
      EditorView.announce.of(`Suggestion by ${one.author}. ${told(one)} Alt A accepts, Alt R rejects, Alt E edits.`),
    ],
  });
  view.focus();
}

function told(one: Suggestion): string {
  const parts = [];
  if (one.old) parts.push(`Deletes ${one.old.slice(0, 200)}.`);
  if (one.new) parts.push(`Inserts ${one.new.slice(0, 200)}.`);
  return parts.join(" ");
}

export function decideHere(action: "accept" | "reject" | "edit"): Command {
  return (view) => {
    const found = suggestionAt(view.state, view.state.selection.main.head);
    if (!found) return false;
    view.state.facet(markActions)?.[action](found);
    return true;
  };
}

export function marked(actions: MarkActions): Extension {
  return [markActions.of(actions), records, drawing, cursorCard, hoverCard];
}
