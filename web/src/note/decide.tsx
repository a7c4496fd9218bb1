// Deciding on a suggestion from the note page. The server changes the text; the page never does.

import { render } from "preact";
import { useState } from "preact/hooks";
import { post, Refused, told } from "../shell/api";
import { Age } from "../shell/age";
import { Dialog } from "../shell/dialog";
import { complain, say } from "../shell/toast";
import type { Suggestion } from "./marked";

interface Result {
  id: string;
  status: "done" | "already_decided" | "gone" | "changed" | "refused" | "not_found" | "forbidden" | "failed";
  message: string;
  decision?: { decision: number } | number | null;
  /** What it takes away and brings now, where that is not what was expected. */
  old?: string;
  new?: string;
}

interface More {
  text?: string;
  /** What the person saw: of a suggestion that says something else now, nothing is decided. */
  expected: { old: string; new: string };
}

const FIRST = "Somebody else decided on this suggestion first.";
const DONE = { accept: "Accepted", reject: "Rejected" };

/** Decide on one suggestion as it was shown, and offer to undo it. */
export async function decide({ id, old, new: proposed }: Suggestion, action: "accept" | "reject"): Promise<boolean> {
  const result = await send(id, action, { expected: { old, new: proposed } });
  if (result.status === "done") sayDone(result, `${DONE[action]}.`);
  else complain(result.message);
  return result.status === "done";
}

/** What became of a decision, in words for a person. */
async function send(id: string, action: "accept" | "reject", more: More): Promise<Result> {
  let result: Result | undefined;
  try {
    const body = { ids: [id], action, ...more };
    [result] = (await post<{ results: Result[] }>("/kb/suggestions/decide", body)).results;
  } catch (error) {
    const body = error instanceof Refused ? (error.body as { results?: Result[] } | null) : null;
    result = body?.results?.[0] ?? { id, status: "failed", message: told(error) };
  }
  result ??= { id, status: "failed", message: "The server did not decide." };
  const message = result.status === "already_decided" ? FIRST : told(result.message);
  return { ...result, message };
}

function sayDone({ decision }: Result, words: string): void {
  const number = typeof decision === "number" ? decision : decision?.decision;
  say(words, number === undefined ? undefined : { name: "Undo", run: () => void undo(number) });
}

async function undo(decision: number): Promise<void> {
  try {
    await post("/kb/suggestions/undo", { decision });
    say("The decision is undone.");
  } catch (error) {
    complain(told(error));
  }
}

export interface CardActions {
  mayDecide: boolean;
  /** Why not. */
  reason: string;
  accept: (suggestion: Suggestion) => void;
  reject: (suggestion: Suggestion) => void;
  edit: (suggestion: Suggestion) => void;
  comment: (suggestion: Suggestion) => void;
  mayComment: boolean;
}

/** The card that the editor shows at a suggestion. */
export function card(suggestion: Suggestion, actions: CardActions): { dom: HTMLElement; destroy: () => void } {
  const dom = document.createElement("div");
  dom.className = "suggestion-card";
  render(<Card suggestion={suggestion} actions={actions} />, dom);
  return { dom, destroy: () => render(null, dom) };
}

function Card({ suggestion, actions }: { suggestion: Suggestion; actions: CardActions }) {
  return (
    <div role="group" aria-label={`Suggestion by ${suggestion.author}`}>
      <p>
        <b>{suggestion.author}</b> {suggestion.time > 0 && <Age time={suggestion.time} />}
      </p>
      {actions.mayDecide ? (
        <div class="suggestion-buttons">
          <button type="button" class="accept" onClick={() => actions.accept(suggestion)}>
            Accept
          </button>
          <button type="button" class="reject" onClick={() => actions.reject(suggestion)}>
            Reject
          </button>
          <button type="button" onClick={() => actions.edit(suggestion)}>
            Edit
          </button>
          <button type="button" onClick={() => actions.comment(suggestion)}>
            Comment
          </button>
        </div>
      ) : (
        <>
          <p class="muted">{actions.reason}</p>
          {actions.mayComment && (
            <div class="suggestion-buttons">
              <button type="button" onClick={() => actions.comment(suggestion)}>
                Comment
              </button>
            </div>
          )}
        </>
      )}
    </div>
  );
}

/** Change what is suggested, then accept that. Open until it is taken: no text is lost. */
export function EditSuggestion({
  suggestion,
  settled,
  onClose,
}: {
  suggestion: Suggestion;
  /** Wait until the server has what was typed in the note. */
  settled: () => Promise<void>;
  onClose: () => void;
}) {
  const [text, setText] = useState(suggestion.new);
  const [seen, setSeen] = useState({ old: suggestion.old, new: suggestion.new });
  const [problem, setProblem] = useState("");
  const [hasChanged, setChanged] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const acceptText = async () => {
    setBusy(true);
    await settled();
    const result = await send(suggestion.id, "accept", { text, expected: seen });
    if (result.status === "done") {
      onClose();
      sayDone(result, "Accepted with your text.");
      return;
    }
    setBusy(false);
    setProblem(result.message);
    if (result.status !== "changed" || result.old === undefined || result.new === undefined) return;
    setSeen({ old: result.old, new: result.new });
    setChanged(true);
  };
  return (
    <Dialog title="Edit the suggestion" onClose={onClose}>
      {seen.old && (
        <>
          <h3>It replaces</h3>
          <pre class="suggestion-old">
            <del>{seen.old}</del>
          </pre>
        </>
      )}
      {hasChanged && (
        <>
          <h3>It proposes now</h3>
          <pre class="suggestion-old">
            <ins>{seen.new}</ins>
          </pre>
        </>
      )}
      <label class="field">
        Your text
        <textarea autofocus rows={6} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      {problem && (
        <p class="problem" role="alert">
          {problem} Your text is still here.
        </p>
      )}
      <p class="muted">It is accepted as yours; {suggestion.author} is told that it was edited.</p>
      <footer class="dialog-foot">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="primary" disabled={isBusy} onClick={() => void acceptText()}>
          {hasChanged ? "Accept my text anyway" : "Accept this text"}
        </button>
      </footer>
    </Dialog>
  );
}
