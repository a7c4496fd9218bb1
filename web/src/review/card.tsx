// A suggestion as a card: who, when, where, what changes, and the buttons that decide.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Age, age } from "../shell/age";
import { inUrl } from "../shell/api";
import { wordDiff } from "../shell/diff";
import { Menu } from "../shell/menu";
import { Change, clipped, Pieces } from "./change";
import { current, takeFocus } from "./cursor";
import type { Seen, Settled } from "./decisions";
import { begun, beginDraft, drafts, drawn, problems, remove, setDraft, setProblem, settled } from "./decisions";
import { Discussion } from "./discussion";
import { mayOn } from "./rights";
import { selected } from "./selection";
import { markSeen, seen, watchSeen } from "./seen";
import type { Suggestion } from "./suggestions";
import { accept, askReason, closeEditor, openEditor, reject, select, takeBack } from "./work";

export function Card({ one }: { one: Suggestion }) {
  const element = useRef<HTMLElement>(null);
  const { id } = one;
  const state = settled.value.get(id);
  const draft = drafts.value.get(id);
  const isOpen = !state || draft !== undefined;
  useLayoutEffect(() => {
    drawn.add(id);
    takeFocus(id, element.current!);
    return () => {
      drawn.delete(id);
    };
  }, [id]);
  useEffect(() => (isOpen ? watchSeen(element.current!) : undefined), [id, isOpen]);
  const isCurrent = current.value === id;
  return (
    <article
      ref={element}
      class={`card suggestion ${isCurrent ? "is-current" : ""} ${isOpen ? "" : "is-settled"}`}
      data-suggestion={id}
      tabIndex={-1}
      aria-label={`Suggestion by ${one.author}, line ${one.line}`}
      aria-current={isCurrent ? "true" : undefined}
      aria-busy={state?.state === "busy" || undefined}
      onFocusIn={() => {
        current.value = id;
        markSeen(id);
      }}
    >
      {state && draft === undefined ? <SettledLine one={one} state={state} /> : <Open one={one} state={state} draft={draft} />}
    </article>
  );
}

function Open({ one, state, draft }: { one: Suggestion; state: Settled | undefined; draft: string | undefined }) {
  const [isWriting, setWriting] = useState(false);
  const problem = problems.value.get(one.id);
  return (
    <>
      <header class="suggestion-head">
        <input
          type="checkbox"
          aria-label={`Select: line ${one.line}, ${one.author}`}
          checked={selected.value.has(one.id)}
          onChange={(event) => select([[one.id, one.digest]], event.currentTarget.checked)}
        />
        <b class="author">{one.author}</b>
        <span class="muted">
          <Age time={one.time} />
        </span>
        <a href={`/notes/${inUrl(one.note)}?line=${one.line}`}>line {one.line.toLocaleString("en")}</a>
        {seen.value.has(one.id) ? (
          <span class="seen muted">Seen</span>
        ) : (
          <span class="unseen">
            <span aria-hidden="true">●</span> <span class="unseen-word">New</span>
          </span>
        )}
      </header>
      {draft === undefined ? <Change one={one} /> : <Editor one={one} draft={draft} state={state} />}
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {draft === undefined && <Buttons one={one} onComment={() => setWriting(true)} />}
      <Discussion one={one} isWriting={isWriting} onWritten={() => setWriting(false)} />
    </>
  );
}

function Buttons({ one, onComment }: { one: Suggestion; onComment: () => void }) {
  return (
    <footer class="row-actions">
      {mayOn("write", one.note) && (
        <>
          <button type="button" class="accept" onClick={() => accept(one.id)}>
            Accept
          </button>
          <span class="split">
            <button type="button" class="reject" onClick={() => reject(one.id)}>
              Reject
            </button>
            <Menu
              label="More ways to decide"
              class="reject"
              items={[{ name: "Reject with a reason…", run: () => askReason(one.id) }]}
            >
              <span aria-hidden="true">▾</span>
            </Menu>
          </span>
          <button type="button" onClick={() => openEditor(one.id)}>
            Edit
          </button>
        </>
      )}
      {mayOn("suggest", one.note) && (
        <button type="button" class="quiet" onClick={onComment}>
          Comment
        </button>
      )}
    </footer>
  );
}

// ── editing ──────────────────────────────────────────────────────────────────────────────────────

function Editor({ one, draft, state }: { one: Suggestion; draft: string; state: Settled | undefined }) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    field.current?.focus({ preventScroll: true });
  }, []);
  useLayoutEffect(() => {
    if (!field.current) return;
    field.current.style.height = "auto";
    field.current.style.height = `${Math.min(field.current.scrollHeight + 4, innerHeight * 0.6)}px`;
  }, [draft]);
  const isOver = state !== undefined && state.state !== "busy";
  const before = begun.value.get(one.id);
  const hasChanged = !isOver && before !== undefined && (before.new !== one.new || before.old !== one.old);
  const goOn = (text: string) => {
    setProblem(one.id, null);
    beginDraft(one, text);
    field.current?.focus();
  };
  const [pieces] = clipped(wordDiff(one.old, draft));
  return (
    <div class="editor">
      {isOver && (
        <p class="problem" role="alert">
          {toldSettled(state)} Your text is still here: copy it if you need it.
        </p>
      )}
      {hasChanged && <ChangedProposal one={one} before={before} />}
      <textarea
        ref={field}
        aria-label="Text to accept"
        dir="auto"
        value={draft}
        onInput={(event) => setDraft(one.id, event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") closeEditor(one.id);
          else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) accept(one.id, draft);
          else return;
          event.preventDefault();
        }}
      />
      <pre class="change-source editor-change" dir="auto" aria-label="What changes">
        <Pieces pieces={pieces} />
      </pre>
      <p class="row-actions">
        {isOver ? (
          <button type="button" onClick={() => remove([one.id])}>
            Discard
          </button>
        ) : hasChanged ? (
          <>
            <button type="button" class="primary" onClick={() => goOn(draft)}>
              Keep my text
            </button>
            <button type="button" onClick={() => goOn(one.new)}>
              Take the new proposal
            </button>
            <button type="button" onClick={() => closeEditor(one.id)}>
              Cancel
            </button>
          </>
        ) : (
          <>
            <button type="button" class="primary" disabled={state?.state === "busy"} onClick={() => accept(one.id, draft)}>
              Accept edited text
            </button>
            <button type="button" onClick={() => closeEditor(one.id)}>
              Cancel
            </button>
          </>
        )}
      </p>
    </div>
  );
}

/** What somebody made of the proposal since the person began to edit it. */
function ChangedProposal({ one, before }: { one: Suggestion; before: Seen }) {
  const changes = [
    ["It brings", before.new, one.new],
    ["It replaces", before.old, one.old],
  ] as const;
  return (
    <div class="changed-proposal" role="alert">
      <p>This proposal has changed since you began to edit it. Your text is still here.</p>
      {changes.map(
        ([name, then, now]) =>
          then !== now && (
            <>
              <p class="muted">{name} now:</p>
              <pre class="change-source" dir="auto">
                <Pieces pieces={clipped(wordDiff(then, now))[0]} />
              </pre>
            </>
          ),
      )}
    </div>
  );
}

// ── decided ──────────────────────────────────────────────────────────────────────────────────────

const NAMES = { accepted: "Accepted", rejected: "Rejected", edited: "Accepted with your text" };
const SIGNS = { accepted: "✓", rejected: "✕", edited: "✓" };

function SettledLine({ one, state }: { one: Suggestion; state: Settled }) {
  if (state.state === "busy") {
    return <p class="settled muted">{state.action === "accept" ? "Accepting…" : "Rejecting…"}</p>;
  }
  const isOwn = state.state === "own";
  return (
    <p class={`settled ${isOwn ? state.outcome : "notice-line"}`} role={isOwn ? undefined : "alert"}>
      <span class="settled-text">
        {isOwn ? (
          <>
            <span aria-hidden="true">{SIGNS[state.outcome]} </span>
            <b>{NAMES[state.outcome]}</b>
            {state.reason && <span> · “{state.reason}”</span>}
            <span class="muted excerpt"> · {excerpt(one, state.text)}</span>
          </>
        ) : (
          <>
            {toldSettled(state)} <span class="muted excerpt">{excerpt(one, state.state === "others" ? state.text : null)}</span>
          </>
        )}
      </span>
      {isOwn ? (
        <button type="button" onClick={() => takeBack(state.decision)}>
          Undo
        </button>
      ) : (
        <button type="button" class="quiet" onClick={() => remove([one.id])}>
          Dismiss
        </button>
      )}
    </p>
  );
}

function toldSettled(state: Settled): string {
  if (state.state === "others") {
    const verb = state.outcome === "edited" ? "accepted this with another text" : `${state.outcome} this`;
    const reason = state.reason ? `: “${state.reason}”` : "";
    return `${state.by} ${verb} ${state.time ? age(state.time) : "before"}${reason}.`;
  }
  return state.state === "gone" ? state.message : "";
}

/** What was decided on, in short: with another text, that. */
function excerpt(one: Suggestion, taken: string | null): string {
  const text = (taken ?? (one.new || one.old)).replace(/\s+/g, " ").trim();
  if (!text && taken !== null) return "nothing in its place";
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
