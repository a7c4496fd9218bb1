// Comments on passages and suggestions, with their answers.

import { useEffect, useRef, useState } from "preact/hooks";
import { get, isAbort, post, told } from "../shell/api";
import { Age } from "../shell/age";
import { hear } from "../shell/events";
import { complain, say } from "../shell/toast";
import type { Passage } from "./live";

export interface Comment {
  id: string;
  line: number;
  author: string;
  time: number;
  text: string;
  suggestion: string | null;
  quote: string | null;
  replies: { id: string; author: string; time: number; text: string }[];
}

/** What a new comment is about. */
export type About = { passage: () => Passage | null; quote: string } | { suggestion: string; quote: string };

/** What was typed and not sent, by what it is for: a form goes when another tab is shown. */
const drafts = new Map<string, string>();

function useDraft(key: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => drafts.get(key) ?? "");
  const change = (typed: string) => {
    setText(typed);
    if (typed) drafts.set(key, typed);
    else drafts.delete(key);
  };
  return [text, change];
}

/** The comments of a note; loaded again when the `held` ones in its text are others. */
export function useComments(path: string, held: string): Comment[] | string | null {
  const [found, setFound] = useState<Comment[] | string | null>(null);
  const reload = useRef<(() => void) | null>(null);
  useEffect(() => {
    let ending = new AbortController();
    let timer = 0;
    const load = () => {
      ending.abort();
      ending = new AbortController();
      get<{ comments: Comment[] }>(`/kb/comments?note=${encodeURIComponent(path)}`, { signal: ending.signal })
        .then((answer) => setFound(answer.comments))
        .catch((error: unknown) => {
          if (!isAbort(error)) setFound((before) => (Array.isArray(before) ? before : told(error)));
        });
    };
    const soon = (event: { note?: string }) => {
      if (event.note !== undefined && event.note !== path) return;
      clearTimeout(timer);
      timer = window.setTimeout(load, 150);
    };
    setFound(null);
    load();
    reload.current = () => soon({});
    const ends = [hear("comment", soon), hear("decided", soon), hear("reload", soon)];
    return () => {
      ending.abort();
      clearTimeout(timer);
      ends.forEach((end) => end());
    };
  }, [path]);
  useEffect(() => reload.current?.(), [held]);
  return found;
}

interface Properties {
  path: string;
  comments: Comment[] | string | null;
  about: About | null;
  chosen: string | null;
  mayComment: boolean;
  mayResolve: boolean;
  reason: string;
  settled: () => Promise<void>;
  /** Where a comment is now, as far as the text on the page shows. */
  lineOf: (comment: Comment) => number;
  onDone: () => void;
  onShow: (comment: Comment) => void;
}

export function CommentsPanel(properties: Properties) {
  const { comments, about, mayComment, reason } = properties;
  return (
    <>
      {about && <NewComment {...properties} about={about} />}
      {!mayComment && <p class="muted">{reason}</p>}
      {comments === null && <p class="muted">Loading…</p>}
      {typeof comments === "string" && <p class="muted">{comments}</p>}
      {Array.isArray(comments) && comments.length === 0 && !about && (
        <p class="muted">
          No comments. {mayComment && "Select a passage and press Comment; agents read comments and answer them."}
        </p>
      )}
      {Array.isArray(comments) && (
        <ul class="threads">
          {comments.map((one) => (
            <Thread key={one.id} comment={one} {...properties} />
          ))}
        </ul>
      )}
    </>
  );
}

function NewComment({ path, about, settled, onDone }: Properties & { about: About }) {
  const [text, setText] = useDraft(`new/${path}`);
  const [isBusy, setBusy] = useState(false);
  const done = () => {
    setText("");
    onDone();
  };
  const send = async () => {
    setBusy(true);
    try {
      await settled();
      const passage = "passage" in about ? about.passage() : null;
      if ("passage" in about && !passage) throw new Error("The passage was deleted meanwhile; select another one, then press Comment again.");
      await post("/kb/comments", { note: path, text, ...("passage" in about ? { passage } : { suggestion: about.suggestion }) });
      say("The comment is added.");
      done();
    } catch (error) {
      complain(told(error));
      setBusy(false);
    }
  };
  return (
    <form
      class="thread new-comment"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <blockquote class="quote">{about.quote.slice(0, 400)}</blockquote>
      <Field label="Comment" value={text} onChange={setText} isFirst />
      <div class="thread-buttons">
        <button type="button" onClick={done}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={isBusy || !text.trim()}>
          Add comment
        </button>
      </div>
    </form>
  );
}

function Field({
  label,
  value,
  onChange,
  isFirst,
}: {
  label: string;
  value: string;
  onChange: (text: string) => void;
  isFirst?: boolean;
}) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (isFirst) field.current?.focus();
  }, []);
  return (
    <textarea
      ref={field}
      aria-label={label}
      placeholder={isFirst ? undefined : "Reply"}
      rows={2}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          event.currentTarget.form?.requestSubmit();
        }
      }}
    />
  );
}

function Thread({ comment, chosen, mayComment, mayResolve, lineOf, onShow }: Properties & { comment: Comment }) {
  const [answer, setAnswer] = useDraft(comment.id);
  const [isBusy, setBusy] = useState(false);
  const element = useRef<HTMLLIElement>(null);
  const isChosen = chosen === comment.id;
  useEffect(() => {
    if (isChosen) element.current?.scrollIntoView({ block: "nearest" });
  }, [isChosen]);
  const run = async (work: () => Promise<unknown>, done: string) => {
    setBusy(true);
    try {
      await work();
      say(done);
      setAnswer("");
    } catch (error) {
      complain(told(error));
    }
    setBusy(false);
  };
  return (
    <li ref={element} class={`thread ${isChosen ? "chosen" : ""}`}>
      <button type="button" class="text-button thread-place" onClick={() => onShow(comment)}>
        {comment.suggestion ? "On a suggestion, " : ""}line {lineOf(comment)}
      </button>
      {comment.quote && <blockquote class="quote">{comment.quote.slice(0, 400)}</blockquote>}
      <Said author={comment.author} time={comment.time} text={comment.text} />
      {comment.replies.map((reply) => (
        <Said key={reply.id} {...reply} />
      ))}
      {mayComment && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void run(() => post("/kb/comments/reply", { id: comment.id, text: answer }), "The reply is added.");
          }}
        >
          <Field label={`Reply to ${comment.author}`} value={answer} onChange={setAnswer} />
          <div class="thread-buttons">
            {mayResolve && (
              <button
                type="button"
                disabled={isBusy}
                onClick={() => void run(() => post("/kb/comments/resolve", { id: comment.id }), "The comment is resolved.")}
              >
                Resolve
              </button>
            )}
            <button type="submit" disabled={isBusy || !answer.trim()}>
              Reply
            </button>
          </div>
        </form>
      )}
    </li>
  );
}

function Said({ author, time, text }: { author: string; time: number; text: string }) {
  return (
    <div class="said">
      <p class="said-by">
        <b>{author}</b> {time > 0 && <Age time={time} />}
      </p>
      <p class="said-text">{text}</p>
    </div>
  );
}
