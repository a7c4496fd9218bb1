// What stands on the page before anything is asked.

import { counted } from "../shell/age";
import { noFiles, session } from "../shell/session";
import { index, indexWords } from "./index_state";
import type { Question } from "./question";
import { address, question } from "./question";

const OF_FILES: { does: string; asked: Partial<Question> }[] = [
  { does: "a word, whole", asked: { text: "\\bTODO\\b" } },
  { does: "definitions of functions", asked: { text: "^\\s*(def|fn|func|function) \\w+" } },
  { does: "either of two, in any case", asked: { text: "error|warning", ignoreCase: true } },
  { does: "a call over several lines", asked: { text: "open\\([^)]*\\)", multiline: true } },
];

const OF_NOTES: typeof OF_FILES = [
  { does: "headings", asked: { text: "^#+ .+" } },
  { does: "tasks that are open", asked: { text: "^\\s*[-*] \\[ \\]" } },
  { does: "links to a note", asked: { text: "\\[\\[Home\\b" } },
  { does: "either of two, in any case", asked: { text: "decided|agreed", ignoreCase: true } },
];

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

export function Hints() {
  const has = session.value;
  const state = index.value;
  const isOfNotes = question.value.where === "notes";
  return (
    <div class="hints">
      {question.value.tab === "search" && (
        <section>
          <h2>Patterns to start with</h2>
          <ul class="hint-list">
            {(isOfNotes ? OF_NOTES : OF_FILES).map((one) => (
              <li key={one.does}>
                <a class="mono" href={address({ ...question.value, ...one.asked })}>
                  {one.asked.text}
                </a>
                <span class="muted">{one.does}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {question.value.tab === "query" && <p class="muted">Say in a few words what the code is about; it need not be the words of the code.</p>}
      {question.value.tab === "symbol" && <p class="muted">Type the whole name of a function, class or constant, as it is written.</p>}
      <section>
        <h2>Keys</h2>
        <ul class="hint-list">
          <li>
            <span>
              <kbd>/</kbd> <kbd>Esc</kbd>
            </span>
            <span class="muted">to the box</span>
          </li>
          <li>
            <span>
              <kbd>↓</kbd> <kbd>↑</kbd> or <kbd>j</kbd> <kbd>k</kbd>
            </span>
            <span class="muted">through the results</span>
          </li>
          <li>
            <kbd>Enter</kbd>
            <span class="muted">opens the {isOfNotes ? "note" : "file"} at the line</span>
          </li>
          <li>
            <kbd>?</kbd>
            <span class="muted">all shortcuts</span>
          </li>
        </ul>
      </section>
      <p class="muted">
        {has?.workspace && state
          ? `${state.total_files ? `${counted(state.total_files, "file")}; ` : ""}${indexWords(state.state, state.freshness, state.progress)}.`
          : has && !has.workspace
            ? capital(`${noFiles()}: the search covers the notes.`)
            : ""}
      </p>
    </div>
  );
}
