// Text of files and names as it is: characters that hide, or turn the order of others, are shown by their number.

import type { ComponentChildren } from "preact";

// Controls but the tab, marks of direction, spaces without width, fillers, tags: nothing that a letter or an emoji needs.
const ODD =
  /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;
const EACH = new RegExp(ODD.source, "gu");

const NAMES: Record<number, string> = {
  0x00: "null",
  0x07: "bell",
  0x08: "backspace",
  0x0a: "line feed",
  0x0c: "form feed",
  0x0d: "carriage return",
  0x1b: "escape",
  0x7f: "delete",
  0xad: "soft hyphen",
  0x061c: "Arabic letter mark",
  0x200b: "zero width space",
  0x200e: "left-to-right mark",
  0x200f: "right-to-left mark",
  0x2028: "line separator",
  0x2029: "paragraph separator",
  0x202a: "left-to-right embedding",
  0x202b: "right-to-left embedding",
  0x202c: "pop directional formatting",
  0x202d: "left-to-right override",
  0x202e: "right-to-left override",
  0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate",
  0x2068: "first strong isolate",
  0x2069: "pop directional isolate",
  0xfeff: "byte order mark",
};

/** A text for the page, with badges in the place of characters that nobody could see. */
export function visible(text: string): ComponentChildren {
  if (!ODD.test(text)) return text;
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const found of text.matchAll(EACH)) {
    if (found.index > from) parts.push(text.slice(from, found.index));
    parts.push(badge(found[0].codePointAt(0)!));
    from = found.index + found[0].length;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

/** The same as plain text, for names in labels and titles. */
export function visibleText(text: string): string {
  return ODD.test(text) ? text.replace(EACH, (one) => numbered(one.codePointAt(0)!)) : text;
}

function badge(code: number) {
  const name = NAMES[code];
  return (
    <span class="odd" title={name ? `${numbered(code)} ${name}` : numbered(code)}>
      {numbered(code)}
    </span>
  );
}

function numbered(code: number): string {
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
