// Markdown as a tree of what may be shown. Text stays text: no HTML of a note is ever interpreted,
// and what is left goes through a sanitiser that knows what is allowed.
//
// Pending suggestions are put into the text as three characters that Unicode has set aside for
// programs (U+FDD0…), so that a mark may begin in one paragraph and end in another; afterwards the
// text between them becomes <del> and <ins>.

import type { Element, ElementContent, Nodes, Root, RootContent, Text } from "hast";
import { sanitize, defaultSchema } from "hast-util-sanitize";
import type { Nodes as Mdast, PhrasingContent, RootContent as MdastContent } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { toHast } from "mdast-util-to-hast";
import { gfm } from "micromark-extension-gfm";
import type { Mark } from "./marks";
import { newSpan, oldSpan } from "./marks";
import { linksIn } from "./wiki";

const OLD = "\uFDD0";
const NEW = "\uFDD1";
const END = "\uFDD2";
const SIGNS = /[\uFDD0\uFDD1\uFDD2]/g;

const SCHEMA = {
  ...defaultSchema,
  tagNames: [...(defaultSchema.tagNames ?? []).filter((name) => !["img", "input", "picture", "source"].includes(name)), "span"],
  attributes: {
    a: ["href", "title", ["dataFootnoteBackref"], ["dataFootnoteRef"], "ariaDescribedBy", "ariaLabel", "id"],
    code: [["className", /^language-[\w+#.-]{1,40}$/]],
    li: ["id"],
    ol: ["start"],
    span: [["className", "wikilink", "picture", "task"], "dataTarget", "dataSource", "dataDone"],
    td: ["align"],
    th: ["align"],
  },
  protocols: { href: ["http", "https", "mailto"] },
  clobberPrefix: "note-",
} as typeof defaultSchema;

/** Put the signs in place of the marks; of comments nothing stays. */
export function signed(text: string, marks: readonly Mark[]): string {
  const parts: string[] = [];
  let at = 0;
  const plain = (from: number, to: number) => text.slice(from, to).replace(SIGNS, "\uFFFD");
  for (const mark of [...marks].sort((one, other) => one.from - other.from)) {
    if (mark.from < at) continue;
    parts.push(plain(at, mark.from));
    at = mark.to;
    if (mark.kind === "comment") continue;
    if (mark.kind === "highlight") {
      parts.push(plain(mark.body, mark.to - 3));
      continue;
    }
    const isFirst = mark.from === 0 || text[mark.from - 1] === "\n";
    const [old, fresh] = [plain(...oldSpan(mark)), plain(...newSpan(mark))];
    if (old) parts.push(wrapped(OLD, old, isFirst));
    if (fresh) parts.push(wrapped(NEW, fresh, isFirst && !old));
  }
  parts.push(plain(at, text.length));
  return parts.join("");
}

export interface SignedPiece {
  kind: "same" | "deleted" | "inserted";
  text: string;
}

/** The same for pieces of a text; each line of a change has signs of its own, so that blocks stay blocks. */
export function signedPieces(given: readonly SignedPiece[]): string {
  let made = "";
  for (const piece of given) {
    const text = piece.text.replace(SIGNS, "\uFFFD");
    if (piece.kind === "same") {
      made += text;
      continue;
    }
    const sign = piece.kind === "deleted" ? OLD : NEW;
    for (const line of text.match(/[^\n]*\n|[^\n]+/g) ?? []) {
      const end = line.endsWith("\n") ? "\n" : "";
      const words = line.slice(0, line.length - end.length);
      made += (words.trim() ? wrapped(sign, words, made === "" || made.endsWith("\n")) : words) + end;
    }
  }
  return made;
}

/** A text with signs as pieces again, where it is no Markdown. */
export function signedWords(text: string): SignedPiece[] {
  let kind: SignedPiece["kind"] = "same";
  return text.split(/([\uFDD0\uFDD1\uFDD2])/).flatMap((part): SignedPiece[] => {
    if (part === OLD) kind = "deleted";
    else if (part === NEW) kind = "inserted";
    else if (part === END) kind = "same";
    else if (part) return [{ kind, text: part }];
    return [];
  });
}

/** At the beginning of a line the signs go after what makes it a heading or an item. */
function wrapped(sign: string, text: string, isFirst: boolean): string {
  const block = isFirst ? (/^\s*(?:(?:#{1,6}|[-*+]|\d{1,9}[.)]|>)\s+)*/.exec(text)?.[0] ?? "") : "";
  return `${block}${sign}${text.slice(block.length)}${END}`;
}

export function parse(text: string): Root {
  const tree = fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
  prepare(tree);
  const made = sanitize(toHast(tree, { clobberPrefix: "" }), SCHEMA) as Root;
  strip(made);
  return { type: "root", children: changes(made.children, { kind: null }) as RootContent[] };
}

// ── before ───────────────────────────────────────────────────────────────────────────────────

type Parent = { children: Mdast[] };

/** HTML becomes text, links to notes become links, pictures and boxes say what they are. */
function prepare(node: Mdast): void {
  if (!("children" in node)) return;
  const parent = node as unknown as Parent;
  parent.children = parent.children.flatMap((child) => replaced(child, node));
  parent.children.forEach(prepare);
}

function replaced(node: Mdast, parent: Mdast): Mdast[] {
  if (node.type === "html") {
    const text: Mdast = { type: "text", value: node.value };
    return parent.type === "paragraph" || "value" in parent ? [text] : [{ type: "paragraph", children: [text] } as MdastContent];
  }
  if (node.type === "text" && parent.type !== "link" && parent.type !== "linkReference") return linked(node.value);
  if (node.type === "image" || node.type === "imageReference") {
    const source = "url" in node ? node.url : "";
    return [span("picture", [{ type: "text", value: node.alt ?? "" }], { dataSource: source })];
  }
  if (node.type === "listItem" && typeof node.checked === "boolean") {
    const box = span("task", [], { dataDone: String(node.checked) });
    node.checked = null;
    const first = node.children[0];
    if (first?.type === "paragraph") first.children.unshift(box as PhrasingContent);
    else node.children.unshift({ type: "paragraph", children: [box as PhrasingContent] });
  }
  return [node];
}

function linked(value: string): Mdast[] {
  const links = linksIn(value);
  if (!links.length) return [{ type: "text", value }];
  const found: Mdast[] = [];
  let at = 0;
  for (const link of links) {
    if (link.from > at) found.push({ type: "text", value: value.slice(at, link.from) });
    found.push(span("wikilink", [{ type: "text", value: link.shown }], { dataTarget: link.target.replace(SIGNS, "") }));
    at = link.to;
  }
  if (at < value.length) found.push({ type: "text", value: value.slice(at) });
  return found;
}

/** A node that becomes a <span>; its text was looked at already. */
function span(className: string, children: Mdast[], properties: Record<string, string>): Mdast {
  return {
    type: "emphasis",
    children: children as PhrasingContent[],
    data: { hName: "span", hProperties: { className: [className], ...properties } },
  } as Mdast;
}

// ── after ────────────────────────────────────────────────────────────────────────────────────

/** Signs in attributes mean nothing. */
function strip(node: Nodes): void {
  if (node.type === "element") {
    for (const [name, value] of Object.entries(node.properties)) {
      if (typeof value === "string") node.properties[name] = decodedSigns(value);
    }
  }
  if ("children" in node) node.children.forEach(strip);
}

function decodedSigns(value: string): string {
  return value.replace(SIGNS, "").replace(/%EF%B7%9[012]/gi, "");
}

type State = { kind: "del" | "ins" | null };

/** The text between signs, as <del> and <ins>. */
function changes(nodes: readonly (ElementContent | RootContent)[], state: State): ElementContent[] {
  return nodes.flatMap((node): ElementContent[] => {
    if (node.type === "text") return pieces(node, state);
    if (node.type === "element") {
      return [{ ...node, children: changes(node.children, state) } as Element];
    }
    return [];
  });
}

function pieces(node: Text, state: State): ElementContent[] {
  if (!state.kind && node.value.search(SIGNS) < 0) return [node];
  const found: ElementContent[] = [];
  for (const part of node.value.split(/([\uFDD0\uFDD1\uFDD2])/)) {
    if (part === OLD) state.kind = "del";
    else if (part === NEW) state.kind = "ins";
    else if (part === END) state.kind = null;
    else if (part) {
      const text: Text = { type: "text", value: part };
      const isShown = state.kind && part.trim();
      found.push(isShown ? { type: "element", tagName: state.kind!, properties: {}, children: [text] } : text);
    }
  }
  return found;
}
