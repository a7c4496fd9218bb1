// The line above the results: how many, how fast, over what, and what was left out.

import type { ComponentChildren } from "preact";
import { counted } from "../shell/age";
import { visible } from "../shell/visible";
import type { Shown } from "./answer";
import { again, count, elsewhere, failure, isWaiting, stopCounting, turned } from "./answer";
import { index, indexWords } from "./index_state";
import type { Question } from "./question";
import { address } from "./question";

export function Summary({ found }: { found: Shown }) {
  const { answer } = found;
  const facts: ComponentChildren[] = [<span key="time">{milliseconds(answer.milliseconds)} on the server</span>];
  if (found.kind === "search") {
    const { files_looked_at: looked, index: state } = found.answer;
    if (looked !== null) facts.push(<span key="files">{counted(looked, thing(found.asked))} looked at</span>);
    if (found.asked.where === "notes") facts.push(<span key="view">pending suggestions count as accepted</span>);
    if (found.asked.where === "workspace" && state) {
      const progress = state.progress ?? (index.value?.state === "building" ? index.value.progress : undefined);
      facts.push(<span key="index">{indexWords(state.state, state.freshness, progress)}</span>);
    }
  } else if (index.value) {
    facts.push(<span key="index">{indexWords(index.value.state, index.value.freshness, index.value.progress)}</span>);
  }
  return (
    <div class="search-summary">
      <p class="search-total" role="status">
        <Total found={found} />
      </p>
      <p class="search-facts muted">{facts}</p>
      {found.kind === "search" && found.answer.shown > 0 && <Remarks message={found.answer.message} />}
      {found.kind === "search" && <Skipped files={found.answer.skipped} thing={thing(found.asked)} />}
    </div>
  );
}

function Total({ found }: { found: Shown }) {
  if (failure.value && !isWaiting.value) {
    return (
      <>
        Results of your previous search{" "}
        {!failure.value.isPattern && (
          <button type="button" class="link-button" onClick={again}>
            Try again
          </button>
        )}
      </>
    );
  }
  if (found.kind === "query") {
    const { results, total } = found.answer;
    if (!results.length) return <>No matches found</>;
    return total === null || total === results.length ? (
      <>{counted(results.length, "passage")}</>
    ) : (
      <>
        {results.length.toLocaleString("en")} shown of {counted(total, "passage")}
      </>
    );
  }
  if (found.kind === "symbol") {
    const { definitions, references } = found.answer;
    if (!definitions.length && !references.length) return <>No matches found</>;
    const more = found.answer.next_offset === null ? "" : " so far";
    return (
      <>
        {counted(definitions.length, "definition")}, {counted(references.length, "reference")}
        {more}
      </>
    );
  }
  const { answer } = found;
  if (!answer.shown) return <NoMatches asked={found.asked} message={answer.message} />;
  const all = count.value;
  if (all === "counting") {
    return (
      <>
        {answer.shown.toLocaleString("en")} shown; counting all…{" "}
        <button type="button" class="link-button" onClick={stopCounting}>
          Stop
        </button>
      </>
    );
  }
  if (all === null || all === "stopped") return <>{counted(answer.shown, "match", "matches")} shown; there are more</>;
  const whole = `${counted(all.matches, "match", "matches")} in ${counted(all.files, thing(found.asked))}`;
  return answer.next_offset === null ? <>{whole}</> : <>{`${answer.shown.toLocaleString("en")} shown; ${whole}`}</>;
}

/** Nothing is there; the server may know why (a pattern that needs multiline, a filter that fits no file). */
function NoMatches({ asked, message }: { asked: Question; message: string | null }) {
  const why = message?.replace(/^No matches found\s*/, "").replace(/^\(|\)$/g, "");
  const other = turned(asked);
  const there = elsewhere.value;
  return (
    <>
      {other ? `No matches in the ${asked.where}` : "No matches found"}
      {other && there && there.matches === 0 && `, nor in the ${other.where}`}
      {other && there && there.matches > 0 && (
        <>
          ; {there.matches.toLocaleString("en")} in the {other.where}: <a href={address(other)}>show</a>
        </>
      )}
      {why && <span class="muted"> · {visible(why)}</span>}
    </>
  );
}

/** What grep says after its results, but for what the page shows by itself. */
function Remarks({ message }: { message: string | null }) {
  const parts = (message ?? "").split("; ").filter((part) => part && !/^more$|^paths are relative to|next: offset|not shown:/.test(part));
  return parts.length ? <p class="search-facts muted">{visible(parts.join("; "))}</p> : null;
}

function Skipped({ files, thing }: { files: [string, string][]; thing: string }) {
  if (!files.length) return null;
  return (
    <details class="search-skipped">
      <summary>{counted(files.length, thing)} skipped</summary>
      <ul>
        {files.slice(0, 200).map(([path, why]) => (
          <li key={path}>
            <bdi class="mono">{visible(path)}</bdi> <span class="muted">{visible(why)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** What is searched, one of it. */
function thing(asked: Question): string {
  return asked.where === "notes" ? "note" : "file";
}

export function milliseconds(value: number): string {
  if (value >= 1000) return `${(value / 1000).toFixed(1)} s`;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}
