// Where results lead: files open at the line with what was searched kept marked, notes in their page.

import { inUrl } from "../shell/api";
import type { Question } from "./question";

export function fileAddress(path: string, asked: Question | null, line?: number, last?: number): string {
  const query = new URLSearchParams();
  if (asked?.tab === "search" && asked.text) {
    query.set("pattern", asked.text);
    if (asked.ignoreCase) query.set("i", "1");
    if (asked.multiline) query.set("m", "1");
  }
  const text = query.toString();
  const place = line === undefined ? "" : last === undefined || last === line ? `#L${line}` : `#L${line}-L${last}`;
  return `/file/${inUrl(path)}${text ? `?${text}` : ""}${place}`;
}

export function resultAddress(path: string, asked: Question, line?: number, last?: number): string {
  if (asked.where === "notes" || path.startsWith("kb://")) {
    return `/notes/${inUrl(path.replace(/^kb:\/\//, ""))}${line === undefined ? "" : `#L${line}`}`;
  }
  return fileAddress(path, asked, line, last);
}
