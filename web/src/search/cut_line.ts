// A line that grep has cut because it is very long: the part around its first match, and where that is.

import type { FoundLine } from "./answer";
import type { Span } from "./drawn";

const CUT = / \[column (\d+), (\d+) chars total\]$/;
const AROUND = 60; // letters

/** The text of a line, and in words what of it that is; no words if that is all. */
export function parted(line: FoundLine): { text: string; cut: string } {
  const found = line.column === undefined ? null : CUT.exec(line.text);
  if (!found) return { text: line.text, cut: line.column === undefined ? "" : "cut" };
  const [column, total] = [Number(found[1]), Number(found[2])];
  return { text: line.text.slice(0, found.index), cut: `column ${column.toLocaleString("en")} of ${total.toLocaleString("en")}` };
}

/** The first match of a cut line with a few letters around. */
export function nearMatch(line: FoundLine): { text: string; spans: Span[]; cut: string } {
  const { text, cut } = parted(line);
  const [start, end] = line.spans[0] ?? [0, 0];
  const from = Math.max(start - AROUND, 0);
  const shown = text.slice(from, Math.min(end, start + AROUND) + AROUND);
  return { text: shown, spans: [[start - from, Math.min(end - from, shown.length)]], cut };
}
