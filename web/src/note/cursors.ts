// Where others are in the text: their cursors, selections and names. What they say of themselves is
// not trusted: names are cut and shown as text, colours are ours.

import type { Extension, Range } from "@codemirror/state";
import { Annotation } from "@codemirror/state";
import type { DecorationSet, ViewUpdate } from "@codemirror/view";
import { Decoration, EditorView, ViewPlugin, WidgetType } from "@codemirror/view";
import type { Awareness } from "y-protocols/awareness";
import * as Y from "yjs";

const MOST_CURSORS = 50;
const MOST_LETTERS = 40;
const COLOURS = 8;

export interface Present {
  name: string;
  colour: number;
  isSelf: boolean;
  /** How many windows they have the note open in. */
  windows: number;
}

export function nameOf(state: unknown): string {
  const name = (state as { user?: { name?: unknown } } | null)?.user?.name;
  if (typeof name !== "string") return "Somebody";
  // Controls and marks of direction could make a name look like something else.
  const plain = name.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu, "").trim();
  const cut = [...plain].slice(0, MOST_LETTERS).join("");
  return cut || "Somebody";
}

/** Everybody's colour, which comes from their name: only where two would have the same, one has the next. */
function colours(awareness: Awareness): Map<string, number> {
  const given = new Map<string, number>();
  const taken = new Set<number>();
  const names = new Set([...awareness.getStates().values()].map(nameOf));
  for (const name of [...names].sort()) {
    let colour = hashed(name) % COLOURS;
    while (taken.has(colour) && taken.size < COLOURS) colour = (colour + 1) % COLOURS;
    taken.add(colour);
    given.set(name, colour);
  }
  return given;
}

function hashed(name: string): number {
  let hash = 0;
  for (const letter of name) hash = (Math.imul(hash, 31) + letter.codePointAt(0)!) >>> 0;
  return hash;
}

/** Who is here: each person once, however many windows they have; oneself first. */
export function everybody(awareness: Awareness): Present[] {
  const found = new Map<string, Present>();
  const colour = colours(awareness);
  awareness.getStates().forEach((state, client) => {
    const name = nameOf(state);
    const known = found.get(name) ?? { name, colour: colour.get(name) ?? 0, isSelf: false, windows: 0 };
    found.set(name, { ...known, isSelf: known.isSelf || client === awareness.clientID, windows: known.windows + 1 });
  });
  return [...found.values()].sort((one, other) => Number(other.isSelf) - Number(one.isSelf) || (one.name < other.name ? -1 : 1));
}

class Caret extends WidgetType {
  constructor(
    readonly name: string,
    readonly colour: number,
  ) {
    super();
  }

  override eq(other: Caret): boolean {
    return other.name === this.name && other.colour === this.colour;
  }

  override toDOM(): HTMLElement {
    const caret = document.createElement("span");
    caret.className = `cm-caret person-${this.colour}`;
    caret.setAttribute("aria-hidden", "true");
    const label = document.createElement("span");
    label.className = "cm-caret-name";
    label.textContent = this.name;
    caret.append("\u2060", label, "\u2060");
    return caret;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

const moved = Annotation.define<true>();

function absolute(position: unknown, text: Y.Text): number | null {
  try {
    const found = Y.createAbsolutePositionFromRelativePosition(Y.createRelativePositionFromJSON(position), text.doc!);
    return found && found.type === text ? found.index : null;
  } catch {
    return null; // whatever another client wrote
  }
}

export function remoteCursors(text: Y.Text, awareness: Awareness): Extension {
  return ViewPlugin.fromClass(
    class {
      decorations: DecorationSet = Decoration.none;

      constructor(readonly view: EditorView) {
        awareness.on("change", this.heard);
        this.decorations = this.draw(view.state.doc.length);
      }

      heard = ({ added, updated, removed }: Record<"added" | "updated" | "removed", number[]>) => {
        if ([...added, ...updated, ...removed].some((client) => client !== awareness.clientID)) {
          // Not in the middle of an update of the view.
          queueMicrotask(() => this.view.dom.isConnected && this.view.dispatch({ annotations: moved.of(true) }));
        }
      };

      update(update: ViewUpdate) {
        if (update.selectionSet || update.docChanged || update.focusChanged) this.tell(update.view);
        const isMoved = update.transactions.some((one) => one.annotation(moved));
        if (isMoved) this.decorations = this.draw(update.state.doc.length);
        else if (update.docChanged) this.decorations = this.decorations.map(update.changes);
      }

      tell(view: EditorView) {
        if (!view.hasFocus || awareness.getLocalState() === null) return;
        const { anchor, head } = view.state.selection.main;
        // The plugin that writes into the document comes first, so both have the same length.
        if (Math.max(anchor, head) > text.length) return;
        awareness.setLocalStateField("cursor", {
          anchor: Y.relativePositionToJSON(Y.createRelativePositionFromTypeIndex(text, anchor)),
          head: Y.relativePositionToJSON(Y.createRelativePositionFromTypeIndex(text, head)),
        });
      }

      draw(size: number): DecorationSet {
        const found: Range<Decoration>[] = [];
        let count = 0;
        const given = colours(awareness);
        awareness.getStates().forEach((state, client) => {
          const cursor = (state as { cursor?: { anchor?: unknown; head?: unknown } }).cursor;
          if (client === awareness.clientID || !cursor || ++count > MOST_CURSORS) return;
          const anchor = absolute(cursor.anchor, text);
          const head = absolute(cursor.head, text);
          if (anchor === null || head === null || Math.max(anchor, head) > size) return;
          const name = nameOf(state);
          const colour = given.get(name) ?? 0;
          if (anchor !== head) {
            const selection = Decoration.mark({ class: `cm-others-selection person-${colour}` });
            found.push(selection.range(Math.min(anchor, head), Math.max(anchor, head)));
          }
          const widget = new Caret(name, colour);
          found.push(Decoration.widget({ widget, side: head > anchor ? -1 : 1 }).range(head));
        });
        return Decoration.set(found, true);
      }

      destroy() {
        awareness.off("change", this.heard);
      }
    },
    { decorations: (plugin) => plugin.decorations },
  );
}
