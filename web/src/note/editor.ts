// The editor of a note: CodeMirror bound to the note's text, with what this page adds.

import { autocompletion } from "@codemirror/autocomplete";
import { defaultKeymap } from "@codemirror/commands";
import { defineLanguageFacet, Language, languageDataProp } from "@codemirror/language";
import { search, searchKeymap } from "@codemirror/search";
import type { Extension } from "@codemirror/state";
import { Compartment, EditorState, StateEffect } from "@codemirror/state";
import type { DecorationSet, ViewUpdate } from "@codemirror/view";
import { Decoration, drawSelection, dropCursor, EditorView, keymap, MatchDecorator, ViewPlugin } from "@codemirror/view";
import type { MarkdownConfig } from "@lezer/markdown";
import { GFM, parser } from "@lezer/markdown";
import { yCollab, yUndoManagerKeymap } from "y-codemirror.next";
import { remoteCursors } from "./cursors";
import { frontmatterLines } from "./frontmatter";
import type { LiveNote } from "./live";
import { continueList } from "./lists";
import type { MarkActions } from "./marked";
import { decideHere, marked, records, setRecords, toSuggestion } from "./marked";
import { recordsOf } from "./marks";
import { theme } from "./theme";
import type { Aim } from "./wiki";
import { completeLinks, linkAt, resolve, takeLink, WIKILINK } from "./wiki";

export interface EditorActions extends MarkActions {
  follow: (aim: Aim) => void;
  comment: () => void;
  changed: (update: ViewUpdate) => void;
}

const data = defineLanguageFacet({});
// The parser reads a paragraph anew for each letter in it, and its links take the square of their number:
// in a note that is one paragraph of a megabyte a letter took two seconds.
const PARAGRAPH = 8_000; // characters after which another one begins
const LINE = 40_000; // characters of a paragraph that is drawn as plain text
const bounded: MarkdownConfig = {
  parseBlock: [{ name: "LongParagraph", endLeaf: (_context, _line, leaf) => leaf.content.length > PARAGRAPH }],
  parseInline: [{ name: "LongLine", before: "Escape", parse: (context) => (context.end - context.offset > LINE ? context.end : -1) }],
};
const markdown = new Language(
  data,
  parser.configure([GFM, bounded, { props: [languageDataProp.add({ Document: data })] }]),
  [],
  "markdown",
);

const writing = new Compartment();

function rights(mayWrite: boolean): Extension {
  return [
    EditorState.readOnly.of(!mayWrite),
    EditorView.contentAttributes.of(mayWrite ? {} : { "aria-readonly": "true" }),
  ];
}

export function allowWriting(view: EditorView, mayWrite: boolean): void {
  view.dispatch({ effects: writing.reconfigure(rights(mayWrite)) });
}

// ── links ────────────────────────────────────────────────────────────────────────────────────

/** The list of notes has changed: links may lead somewhere now. */
export const notesChanged = StateEffect.define<null>();

function wikilinks(path: () => string): Extension {
  const matcher = new MatchDecorator({
    regexp: WIKILINK,
    decoration: (found) =>
      Decoration.mark({ class: resolve(found[1]!.trim(), path()) === null ? "cm-wikilink cm-unresolved" : "cm-wikilink" }),
  });
  return ViewPlugin.fromClass(
    class {
      decorations: DecorationSet;
      constructor(view: EditorView) {
        this.decorations = matcher.createDeco(view);
      }
      update(update: ViewUpdate) {
        const isOther = update.transactions.some((one) => one.effects.some((effect) => effect.is(notesChanged)));
        this.decorations = isOther ? matcher.createDeco(update.view) : matcher.updateDeco(update, this.decorations);
      }
    },
    { decorations: (plugin) => plugin.decorations },
  );
}

function following(follow: (aim: Aim) => void): Extension {
  return EditorView.domEventHandlers({
    mousedown(event, view) {
      if (!(event.ctrlKey || event.metaKey) || event.button !== 0) return false;
      const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
      const aim = at === null ? null : linkAt(view.state, at);
      if (!aim) return false;
      event.preventDefault();
      follow(aim);
      return true;
    },
  });
}

// ── frontmatter ──────────────────────────────────────────────────────────────────────────────

const grey = Decoration.line({ class: "cm-frontmatter" });

function drawFrontmatter({ state: { doc } }: EditorView): DecorationSet {
  const lines = frontmatterLines((number) => (number < doc.lines ? doc.line(number + 1).text : null));
  return Decoration.set(Array.from({ length: lines }, (_, number) => grey.range(doc.line(number + 1).from)));
}

const frontmatter: Extension = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = drawFrontmatter(view);
    }
    update(update: ViewUpdate) {
      if (update.docChanged) this.decorations = drawFrontmatter(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

// ── records ──────────────────────────────────────────────────────────────────────────────────

const CHECK_AFTER = 600; // milliseconds after typing: the editor moved positions itself till then

/** Keep the editor's records those of the document. */
function followRecords(live: LiveNote): Extension {
  return ViewPlugin.fromClass(
    class {
      timer = 0;
      constructor(readonly view: EditorView) {
        live.records.observe(this.now);
      }
      now = () => {
        clearTimeout(this.timer);
        // The text of the same transaction reaches the editor first.
        queueMicrotask(() => {
          if (this.view.dom.isConnected) this.view.dispatch({ effects: setRecords.of(recordsOf(live.records, live.text)) });
        });
      };
      update(update: ViewUpdate) {
        if (!update.docChanged || !live.records.size) return;
        clearTimeout(this.timer);
        this.timer = window.setTimeout(this.now, CHECK_AFTER);
      }
      destroy() {
        clearTimeout(this.timer);
        live.records.unobserve(this.now);
      }
    },
  );
}

// ── all of it ────────────────────────────────────────────────────────────────────────────────

/** Half of a character, which is U+FFFD for everybody else: then it is so here too. */
const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";

export function makeEditor(live: LiveNote, parent: HTMLElement, mayWrite: boolean, actions: EditorActions): EditorView {
  const run = (work: () => void) => () => {
    work();
    return true;
  };
  const own = keymap.of([
    { key: "Alt-ArrowDown", run: toSuggestion(1) },
    { key: "Alt-ArrowUp", run: toSuggestion(-1) },
    { key: "Alt-a", run: decideHere("accept") },
    { key: "Alt-r", run: decideHere("reject") },
    { key: "Alt-e", run: decideHere("edit") },
    { key: "Alt-c", run: run(actions.comment) },
    {
      key: "Alt-Enter",
      run: (view) => {
        const aim = linkAt(view.state, view.state.selection.main.head);
        if (aim) actions.follow(aim);
        return aim !== null;
      },
    },
    { key: "Enter", run: (view) => takeLink(view) || continueList(view) },
  ]);
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: live.text.toString(),
      extensions: [
        EditorView.cspNonce.of(nonce),
        EditorState.lineSeparator.of("\n"),
        EditorView.clipboardInputFilter.of((text) => text.replace(/\r\n?/g, "\n").replace(HALF, "\ufffd")),
        writing.of(rights(mayWrite)),
        EditorView.contentAttributes.of({ "aria-label": "Text of the note", tabindex: "0", spellcheck: "true", autocapitalize: "sentences" }),
        EditorView.lineWrapping,
        yCollab(live.text, null, { undoManager: live.undo }),
        remoteCursors(live.text, live.provider.awareness),
        marked(actions),
        followRecords(live),
        markdown.extension,
        frontmatter,
        wikilinks(() => live.path.peek()),
        following(actions.follow),
        autocompletion({ override: [completeLinks], icons: false, interactionDelay: 0, activateOnTypingDelay: 0 }),
        drawSelection(),
        dropCursor(),
        search({ top: true }),
        own,
        keymap.of([...yUndoManagerKeymap, ...searchKeymap, ...defaultKeymap]),
        theme,
        EditorView.updateListener.of(actions.changed),
      ],
    }),
  });
  view.dispatch({ effects: setRecords.of(recordsOf(live.records, live.text)) });
  return view;
}

export { records };
