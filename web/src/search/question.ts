// What is asked on the search page. The address holds all of it, so that it can be shared:
//
//     /?q=PATTERN&tab=query|symbol&in=notes&i=1&m=1&c=2&glob=*.py,*.md&type=py&path=src

import { effect, signal } from "@preact/signals";
import { leaving, navigate, place } from "../shell/router";
import { session } from "../shell/session";

export type Tab = "search" | "query" | "symbol";
export type Where = "workspace" | "notes";

export interface Question {
  tab: Tab;
  text: string;
  where: Where;
  ignoreCase: boolean;
  multiline: boolean;
  context: number;
  glob: string;
  type: string;
  path: string;
}

export const MOST_CONTEXT = 5;

export function read(query: URLSearchParams): Question {
  const tab = query.get("tab");
  const context = Number.parseInt(query.get("c") ?? "0", 10);
  const has = session.value;
  const asksNotes = has && has.workspace !== has.notes ? has.notes : query.get("in") === "notes";
  return {
    tab: (tab === "query" || tab === "symbol") && has?.workspace ? tab : "search",
    text: query.get("q") ?? "",
    where: asksNotes ? "notes" : "workspace",
    ignoreCase: query.get("i") === "1",
    multiline: query.get("m") === "1",
    context: Number.isFinite(context) ? Math.min(Math.max(context, 0), MOST_CONTEXT) : 0,
    glob: query.get("glob") ?? "",
    type: query.get("type") ?? "",
    path: query.get("path") ?? "",
  };
}

export function address(asked: Question): string {
  const query = new URLSearchParams();
  const set = (name: string, value: string | false) => {
    if (value) query.set(name, value);
  };
  set("q", asked.text);
  set("tab", asked.tab !== "search" && asked.tab);
  set("in", asked.where === "notes" && "notes");
  set("i", asked.ignoreCase && "1");
  set("m", asked.multiline && "1");
  set("c", asked.context > 0 && String(asked.context));
  set("glob", asked.glob.trim());
  set("type", asked.type.trim());
  set("path", asked.path.trim());
  const text = query.toString();
  return text ? `/?${text}` : "/";
}

export const question = signal<Question>(read(place.value.query));

// Browsers count the changes of an address and ignore those beyond some 200 in half a minute.
const ADDRESS_MILLISECONDS = 250;
let timer = 0;
let lastStep = "";

/** Ask something else; the address follows when the person pauses. */
export function ask(change: Partial<Question>): void {
  question.value = { ...question.value, ...change };
  clearTimeout(timer);
  timer = window.setTimeout(writeAddress, ADDRESS_MILLISECONDS);
}

/** Have what is asked in the address at once. */
export function writeAddress(): void {
  clearTimeout(timer);
  timer = 0;
  const wanted = address(question.value);
  if (place.value.path === "/" && wanted !== location.pathname + location.search) navigate(wanted, { replace: true });
}

/** Keep what is asked now as a step to go back to. */
export function keepStep(): void {
  writeAddress();
  const wanted = address(question.value);
  if (wanted === lastStep) return;
  lastStep = wanted;
  navigate(wanted);
}

// Whoever opens a result at once finds the search in the step before.
leaving.add(() => {
  if (timer) writeAddress();
  return null;
});

/** Back, forward and links: the address asks. */
function followAddress(): void {
  const { path, query } = place.value;
  if (path !== "/" || timer) return;
  const asked = read(query);
  if (address(asked) !== address(question.peek())) question.value = asked;
}
effect(followAddress);
addEventListener("popstate", () => {
  clearTimeout(timer); // what was typed last belongs to the step that is left
  timer = 0;
  followAddress();
});

/** The globs of the filter: at commas and blanks, but not inside braces. */
export function globs(text: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let one = "";
  for (const letter of text) {
    if (letter === "{") depth++;
    else if (letter === "}") depth = Math.max(depth - 1, 0);
    if (depth === 0 && /[\s,]/.test(letter)) {
      if (one) found.push(one);
      one = "";
    } else one += letter;
  }
  if (one) found.push(one);
  return found;
}

/** What is searched, for /api/count; /api/search takes more (`context`). */
export function filters(asked: Question): Record<string, unknown> {
  const include = globs(asked.glob);
  const type = asked.type.trim();
  const path = asked.path.trim();
  return {
    pattern: asked.text,
    where: asked.where,
    ...(asked.ignoreCase ? { case_insensitive: true } : {}),
    ...(asked.multiline ? { multiline: true } : {}),
    ...(include.length ? { include } : {}),
    ...(type ? { type } : {}),
    ...(path ? { path } : {}),
  };
}
