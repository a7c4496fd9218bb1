// A line of a file as text nodes: what matches is marked, tokens have their classes, odd characters are shown.

import type { ComponentChildren } from "preact";
import { visible } from "../shell/visible";

export type Span = readonly [number, number];

export interface Token {
  from: number;
  to: number;
  names: string;
}

export function drawn(text: string, spans: readonly Span[], tokens: readonly Token[] = []): ComponentChildren {
  if (!spans.length) return coloured(text, 0, text.length, tokens);
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const [start, end] of spans) {
    if (start < from || end <= start || start > text.length) continue;
    parts.push(coloured(text, from, start, tokens));
    parts.push(<mark>{coloured(text, start, Math.min(end, text.length), tokens)}</mark>);
    from = end;
  }
  parts.push(coloured(text, from, text.length, tokens));
  return parts;
}

/** A part of a line in the colours of its tokens, which are in order and apart. */
function coloured(text: string, from: number, to: number, tokens: readonly Token[]): ComponentChildren {
  if (from >= to) return null;
  if (!tokens.length) return visible(text.slice(from, to));
  const parts: ComponentChildren[] = [];
  let done = from;
  for (const token of tokens) {
    if (token.to <= done) continue;
    if (token.from >= to) break;
    const start = Math.max(token.from, done);
    const end = Math.min(token.to, to);
    if (start > done) parts.push(visible(text.slice(done, start)));
    parts.push(<span class={token.names}>{visible(text.slice(start, end))}</span>);
    done = end;
  }
  if (done < to) parts.push(visible(text.slice(done, to)));
  return parts;
}
