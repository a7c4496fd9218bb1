// Comments on a suggestion: read, answered, resolved. The agent reads them and answers too.

import { useState } from "preact/hooks";
import { Age } from "../shell/age";
import { post, told } from "../shell/api";
import { complain } from "../shell/toast";
import { mayOn } from "./rights";
import type { Comment, Reply, Suggestion } from "./suggestions";
import { refresh } from "./suggestions";

interface Properties {
  one: Suggestion;
  isWriting: boolean;
  onWritten: () => void;
}

export function Discussion({ one, isWriting, onWritten }: Properties) {
  const comments = one.comments ?? [];
  if (!comments.length && !isWriting) return null;
  const add = async (text: string) => {
    await post("/kb/comments", { note: one.note, suggestion: one.id, text });
    refresh(one.note);
    onWritten();
  };
  return (
    <section class="talk" aria-label="Comments">
      {comments.map((comment) => (
        <Thread key={comment.id} comment={comment} note={one.note} />
      ))}
      {isWriting && <Words label="Comment" action="Send" send={add} onCancel={onWritten} />}
    </section>
  );
}

function Thread({ comment, note }: { comment: Comment; note: string }) {
  const [isAnswering, setAnswering] = useState(false);
  const answer = async (text: string) => {
    await post("/kb/comments/reply", { id: comment.id, text });
    refresh(note);
    setAnswering(false);
  };
  const resolve = () => {
    post("/kb/comments/resolve", { id: comment.id }).then(
      () => refresh(note),
      (error: unknown) => complain(told(error)),
    );
  };
  const all = [comment, ...comment.replies].map((said) => <Said key={said.id} said={said} />);
  if (comment.resolved) {
    return (
      <details class="talk-thread resolved">
        <summary>
          Comment resolved by {comment.resolved.by} <Age time={comment.resolved.time} />
        </summary>
        {all}
      </details>
    );
  }
  return (
    <div class="talk-thread">
      {all}
      {isAnswering ? (
        <Words label="Reply" action="Send" send={answer} onCancel={() => setAnswering(false)} />
      ) : (
        <p class="talk-actions">
          {mayOn("suggest", note) && (
            <button type="button" class="quiet" onClick={() => setAnswering(true)}>
              Reply
            </button>
          )}
          {mayOn("write", note) && (
            <button type="button" class="quiet" onClick={resolve}>
              Resolve
            </button>
          )}
        </p>
      )}
    </div>
  );
}

function Said({ said }: { said: Reply }) {
  return (
    <div class="talk-said">
      <p class="talk-by">
        <b>{said.author}</b> <Age time={said.time} />
      </p>
      <p class="talk-text" dir="auto">
        {said.text}
      </p>
    </div>
  );
}

interface WordsProperties {
  label: string;
  action: string;
  send: (text: string) => Promise<void>;
  onCancel: () => void;
}

/** A field for a few words. They stay there when sending fails. */
function Words({ label, action, send, onCancel }: WordsProperties) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!text.trim() || isBusy) return;
    setBusy(true);
    setProblem("");
    try {
      await send(text.trim());
    } catch (error) {
      setProblem(told(error));
      setBusy(false);
    }
  };
  return (
    <form class="talk-words" onSubmit={(event) => void submit(event)}>
      <textarea
        aria-label={label}
        placeholder={`${label}…`}
        rows={2}
        dir="auto"
        value={text}
        ref={(element) => {
          if (element && !element.dataset["met"]) {
            element.dataset["met"] = "yes";
            element.focus({ preventScroll: true });
          }
        }}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit(event);
          else if (event.key === "Escape" && !text.trim()) onCancel();
        }}
      />
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <p class="row-actions">
        <button type="submit" class="primary" disabled={isBusy || !text.trim()}>
          {action}
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </p>
    </form>
  );
}
