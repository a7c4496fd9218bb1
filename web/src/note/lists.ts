// Enter in a list or a quote goes on with it; in an empty item it ends it.

import type { Command } from "@codemirror/view";

const ITEM = /^(\s*(?:>\s?)*)(?:([-*+])|(\d{1,9})([.)]))(\s+)(\[[ xX]\]\s+)?/;
const QUOTE = /^\s*(?:>\s?)+/;

/** What begins the line after one; null where nothing does. */
export function nextItem(line: string): { begins: string; isEmpty: boolean } | null {
  const item = ITEM.exec(line);
  if (item) {
    const [whole, before, bullet, number, dot, space, box] = item;
    const sign = bullet ?? `${Number(number) + 1}${dot}`;
    return { begins: `${before}${sign}${space}${box ? "[ ] " : ""}`, isEmpty: line.slice(whole.length).trim() === "" };
  }
  const quote = QUOTE.exec(line)?.[0];
  return quote ? { begins: quote, isEmpty: line.slice(quote.length).trim() === "" } : null;
}

export const continueList: Command = (view) => {
  const { main } = view.state.selection;
  if (!main.empty || view.state.readOnly) return false;
  const line = view.state.doc.lineAt(main.head);
  const next = nextItem(line.text);
  if (!next || main.head - line.from < next.begins.trimEnd().length) return false;
  if (next.isEmpty) {
    view.dispatch({ changes: { from: line.from, to: line.to }, userEvent: "delete" });
  } else {
    const insert = `\n${next.begins}`;
    view.dispatch({
      changes: { from: main.head, insert },
      selection: { anchor: main.head + insert.length },
      scrollIntoView: true,
      userEvent: "input",
    });
  }
  return true;
};
