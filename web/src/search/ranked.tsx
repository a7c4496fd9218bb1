// Passages about some words, the best first.

import { useRef } from "preact/hooks";
import { visible } from "../shell/visible";
import { resultAddress } from "./addresses";
import type { QueryAnswer } from "./answer";
import { useLinkMover } from "./link_mover";
import type { Mover } from "./list";
import type { Question } from "./question";

interface Properties {
  answer: QueryAnswer;
  asked: Question;
  mover: { current: Mover | null };
  onLeave: () => void;
}

export function Ranked({ answer, asked, mover, onLeave }: Properties) {
  const list = useRef<HTMLOListElement>(null);
  mover.current = useLinkMover(list, onLeave);
  if (!answer.results.length) return null;
  const best = answer.results[0]?.score || 1;
  return (
    <ol class="ranked" ref={list}>
      {answer.results.map((one, at) => (
        <li key={at} class="card">
          <h2>
            <a data-result href={resultAddress(one.file_path, asked, one.start_line, one.end_line)}>
              <bdi>{visible(one.file_path)}</bdi>
              <span class="ranked-lines">
                :{one.start_line}–{one.end_line}
              </span>
            </a>
            {one.symbol && <code class="ranked-symbol">{visible(one.symbol)}</code>}
            <Score value={one.score} best={best} />
          </h2>
          <Preview text={one.preview} />
        </li>
      ))}
    </ol>
  );
}

/** How good a passage is beside the best, as a bar. */
function Score({ value, best }: { value: number; best: number }) {
  return (
    <span
      class="ranked-score"
      role="meter"
      aria-label="Score"
      aria-valuemin={0}
      aria-valuemax={best}
      aria-valuenow={value}
      title={`Score ${value.toFixed(1)}`}
    >
      <span style={{ width: `${Math.max((value / best) * 100, 2)}%` }} />
    </span>
  );
}

/** Lines as `41: text`; a row without a number is a gap. */
function Preview({ text }: { text: string }) {
  return (
    <div class="passage">
      {text.split("\n").map((row, at) => {
        const parts = /^(\d+): ?(.*)$/.exec(row);
        return (
          <div key={at} class="found-line">
            <span class="found-number">{parts?.[1] ?? ""}</span>
            <code>{visible(parts?.[2] ?? row)}</code>
          </div>
        );
      })}
    </div>
  );
}
