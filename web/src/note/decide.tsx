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
  status: "done" | "already_decided" | "gone" | "not_found" | "forbidden";
  message: string;
  decision?: { decision: number } | number | null;
}

const DONE = { accept: "Accepted", reject: "Rejected" };

/** Decide on one suggestion, and offer to undo it. */
export async function decide(
  id: string,
  action: "accept" | "reject",
  more: { text?: string; reason?: string } = {},
): Promise<boolean> {
  try {
    const answer = await post<{ results: Result[] }>("/kb/suggestions/decide", { ids: [id], action, ...more });
    const [result] = answer.results;
    if (result?.status !== "done") {
      complain(told(result?.message ?? "The server did not decide."));
      return false;
    }
    const { decision } = result;
    const number = typeof decision === "number" ? decision : decision?.decision;
    say(
      more.text === undefined ? `${DONE[action]}.` : "Accepted with your text.",
      number === undefined ? undefined : { name: "Undo", run: () => void undo(number) },
    );
    return true;
  } catch (error) {
    complain(
      error instanceof Refused && error.status === 409 ? "Somebody else decided on this suggestion first." : told(error),
    );
    return false;
  }
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

/** Change what is suggested, then accept that. */
export function EditSuggestion({
  suggestion,
  onAccept,
  onClose,
}: {
  suggestion: Suggestion;
  onAccept: (text: string) => void;
  onClose: () => void;
}) {
  const [text, setText] = useState(suggestion.new);
  return (
    <Dialog title="Edit the suggestion" onClose={onClose}>
      {suggestion.old && (
        <>
          <h3>It replaces</h3>
          <pre class="suggestion-old">
            <del>{suggestion.old}</del>
          </pre>
        </>
      )}
      <label class="field">
        Your text
        <textarea autofocus rows={6} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <p class="muted">It is accepted as yours; {suggestion.author} is told that it was edited.</p>
      <footer class="dialog-foot">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          class="primary"
          onClick={() => {
            onClose();
            onAccept(text);
          }}
        >
          Accept this text
        </button>
      </footer>
    </Dialog>
  );
}
