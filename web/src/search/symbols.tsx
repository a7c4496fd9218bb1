// Where a name is defined, and where it stands.

import { useRef } from "preact/hooks";
import { visible } from "../shell/visible";
import { fileAddress } from "./addresses";
import type { SymbolAnswer } from "./answer";
import { drawn } from "./drawn";
import { useLinkMover } from "./link_mover";
import type { Mover } from "./list";
import type { Question } from "./question";

interface Properties {
  answer: SymbolAnswer;
  asked: Question;
  mover: { current: Mover | null };
  onLeave: () => void;
}

export function Symbols({ answer, asked, mover, onLeave }: Properties) {
  const outer = useRef<HTMLDivElement>(null);
  mover.current = useLinkMover(outer, onLeave);
  const name = answer.symbol_name;
  const escaped = name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  const sought: Question = { ...asked, tab: "search", text: `\\b${escaped}\\b`, ignoreCase: false, multiline: false };
  return (
    <div ref={outer} class="symbols">
      {answer.definitions.length > 0 && (
        <section>
          <h2>Definitions</h2>
          <ul>
            {answer.definitions.map((one, at) => (
              <li key={at} class="symbol">
                <a data-result href={fileAddress(one.file_path, sought, one.line)}>
                  <bdi>{visible(one.file_path)}</bdi>:{one.line}
                </a>
                <span class="badge">{one.kind}</span>
                <code>{drawn(one.signature, words(one.signature, name))}</code>
              </li>
            ))}
          </ul>
        </section>
      )}
      {answer.references.length > 0 && (
        <section>
          <h2>References</h2>
          <ul>
            {answer.references.map((one, at) => (
              <li key={at} class="symbol">
                <a data-result href={fileAddress(one.file_path, sought, one.line)}>
                  <bdi>{visible(one.file_path)}</bdi>:{one.line}
                </a>
                <code>{drawn(one.text.trim(), words(one.text.trim(), name))}</code>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

/** Where the name stands in a line as a word of its own. */
function words(text: string, name: string): [number, number][] {
  const found: [number, number][] = [];
  if (!name) return found;
  for (let at = text.indexOf(name); at >= 0 && found.length < 20; at = text.indexOf(name, at + name.length)) {
    const isWord = !isLetter(text[at - 1]) && !isLetter(text[at + name.length]);
    if (isWord) found.push([at, at + name.length]);
  }
  return found;
}

function isLetter(letter: string | undefined): boolean {
  return letter !== undefined && /[\p{L}\p{N}_]/u.test(letter);
}
