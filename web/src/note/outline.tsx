// The headings of a note.

import { useMemo, useRef, useState } from "preact/hooks";
import { frontmatterEnd } from "./frontmatter";

export interface Heading {
  level: number;
  text: string;
  /** Where its line begins. */
  at: number;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const MOST = 5000;
const AT_ONCE = 300;

export function headingsOf(text: string): Heading[] {
  const found: Heading[] = [];
  let fence = "";
  let at = frontmatterEnd(text);
  while (at <= text.length && found.length < MOST) {
    const end = text.indexOf("\n", at);
    const next = end < 0 ? text.length : end;
    // Most lines are neither: look at one character before taking the line.
    const first = text.charCodeAt(at);
    if (first === 35 || first === 96 || first === 126 || first === 32) {
      const line = text.slice(at, Math.min(next, at + 500));
      const mark = FENCE.exec(line)?.[1];
      if (mark && (!fence || (mark[0] === fence[0] && mark.length >= fence.length))) fence = fence ? "" : mark;
      const heading = fence ? null : /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
      if (heading) found.push({ level: heading[1]!.length, text: plain(heading[2]!), at });
    }
    if (end < 0) break;
    at = end + 1;
  }
  return found;
}

/** As accepted, and without marks of emphasis and links. */
function plain(text: string): string {
  return text
    .replace(/\{--.*?--\}|\{>>.*?<<\}/g, "")
    .replace(/\{\+\+(.*?)\+\+\}|\{==(.*?)==\}|\{~~.*?~>(.*?)~~\}/g, "$1$2$3")
    .replace(/\[\[(?:[^[\]|]*\|)?([^[\]|]*)\]\]/g, "$1")
    .replace(/[*_`]{1,3}([^*_`]+)[*_`]{1,3}/g, "$1");
}

export function Outline({ headings, onGo }: { headings: readonly Heading[]; onGo: (at: number) => void }) {
  const [most, setMost] = useState(AT_ONCE);
  const go = useRef(onGo);
  go.current = onGo;
  return useMemo(() => {
    if (!headings.length) return <p class="muted">The note has no headings. A line that begins with # is one.</p>;
    const top = headings.reduce((least, one) => Math.min(least, one.level), 6);
    return (
      <>
        <ul class="outline">
          {headings.slice(0, most).map((one, at) => (
            <li key={at} class={`outline-${Math.min(one.level - top, 4)}`}>
              <button type="button" onClick={() => go.current(one.at)}>
                {one.text || "(empty)"}
              </button>
            </li>
          ))}
        </ul>
        {headings.length > most && (
          <button type="button" onClick={() => setMost(most + AT_ONCE)}>
            Show more
          </button>
        )}
      </>
    );
  }, [headings, most]);
}
