// How the editor looks: colours are those of the pages, so that light and dark follow the system.

import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const view = EditorView.theme({
  "&": { height: "100%", backgroundColor: "transparent", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--sans)", fontSize: "1rem", lineHeight: "1.65", overflowX: "hidden" },
  ".cm-content": { padding: "1rem 0 40vh", caretColor: "var(--text)", maxWidth: "48rem", margin: "0 auto", width: "100%" },
  ".cm-line": { padding: "0 1.25rem" },
  ".cm-cursor": { borderLeftColor: "var(--text)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selected-ground)",
  },
  ".cm-panels": { backgroundColor: "var(--surface)", color: "var(--text)" },
  ".cm-panels.cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-panel.cm-search": { padding: ".5rem .75rem", display: "flex", flexWrap: "wrap", gap: ".35rem", alignItems: "center" },
  ".cm-panel.cm-search br": { display: "none" },
  ".cm-panel.cm-search input, .cm-panel.cm-search button, .cm-panel.cm-search label": { margin: "0", fontSize: ".85rem" },
  ".cm-textfield": {
    border: "1px solid var(--line-strong)",
    borderRadius: "6px",
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    padding: ".25rem .5rem",
  },
  ".cm-button": {
    backgroundImage: "none",
    backgroundColor: "var(--raised)",
    border: "1px solid var(--line-strong)",
    borderRadius: "6px",
    color: "var(--text)",
    padding: ".25rem .6rem",
  },
  ".cm-panel.cm-search [name=close]": { color: "var(--text)", fontSize: "1.1rem", padding: "0 .4rem" },
  ".cm-searchMatch": { backgroundColor: "var(--found-ground)", color: "var(--found)" },
  ".cm-searchMatch-selected": { outline: "2px solid var(--accent)" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "8px",
    boxShadow: "var(--shadow)",
    zIndex: "30",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--sans)", maxHeight: "16rem", padding: ".25rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: ".25rem .5rem", borderRadius: "5px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent-ground)",
    color: "var(--text)",
  },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal", fontSize: ".85em" },
});

const colours = HighlightStyle.define([
  { tag: tags.heading1, fontSize: "1.5em", fontWeight: "700", lineHeight: "1.3" },
  { tag: tags.heading2, fontSize: "1.25em", fontWeight: "700" },
  { tag: tags.heading3, fontSize: "1.1em", fontWeight: "700" },
  { tag: [tags.heading4, tags.heading5, tags.heading6], fontWeight: "700" },
  { tag: tags.strong, fontWeight: "700" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.strikethrough, textDecoration: "line-through" },
  { tag: [tags.link, tags.url], color: "var(--accent)" },
  { tag: tags.monospace, fontFamily: "var(--mono)", fontSize: ".92em" },
  { tag: tags.quote, color: "var(--muted)" },
  { tag: [tags.processingInstruction, tags.contentSeparator, tags.labelName, tags.meta], color: "var(--muted)" },
  { tag: [tags.comment, tags.angleBracket, tags.tagName], color: "var(--muted)" },
]);

export const theme: Extension = [view, syntaxHighlighting(colours)];
