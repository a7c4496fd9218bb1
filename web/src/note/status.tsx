// What a person must know about the note they have open: who else is here, what is saved, what is wrong.

import { useEffect, useState } from "preact/hooks";
import { inUrl } from "../shell/api";
import { navigate } from "../shell/router";
import { say } from "../shell/toast";
import type { Present } from "./cursors";
import { everybody } from "./cursors";
import { restoreNote } from "./filing";
import type { LiveNote } from "./live";
import { mayOn } from "./rights";

const SHOWN = 5;

export function People({ live }: { live: LiveNote }) {
  const [people, setPeople] = useState<Present[]>([]);
  useEffect(() => {
    const { awareness } = live.provider;
    const look = () => setPeople(everybody(awareness));
    look();
    awareness.on("change", look);
    return () => awareness.off("change", look);
  }, [live]);
  return (
    <ul class="people" aria-label="People here">
      {people.slice(0, SHOWN).map((one) => (
        <li key={one.name} class={`person-chip person-${one.colour}`} title={described(one)}>
          <span aria-hidden="true">{[...one.name][0]?.toUpperCase()}</span>
          <span class="visually-hidden">{described(one)}</span>
        </li>
      ))}
      {people.length > SHOWN && (
        <li class="muted" title={people.map((one) => one.name).join(", ")}>
          +{people.length - SHOWN}
        </li>
      )}
    </ul>
  );
}

function described(one: Present): string {
  const windows = one.windows > 1 ? `, ${one.windows} windows` : "";
  return one.isSelf ? `${one.name} (you${windows})` : one.name + windows;
}

/** Whether what was typed is saved, in words. */
export function SaveState({ live, mayWrite }: { live: LiveNote; mayWrite: boolean }) {
  const state = live.saved.value;
  const isLost = live.connection.value === "lost";
  const trouble = live.trouble.value;
  let text = "";
  if (state === "unsaved") {
    text = live.isKept.value
      ? "Not saved yet: no connection. Your text stays here and in this browser."
      : "Not saved yet: no connection. Your text stays here; keep this page open.";
    if (live.closed.value === "too-large") text = "Not saved: the note is too large.";
    else if (live.closed.value === "forbidden") text = "Not saved: you may not change this note.";
    else if (trouble) text = `Not saved yet: ${trouble}. Your text stays here; the page tries again.`;
  } else if (isLost && live.closed.value === null) text = trouble ? `${capital(trouble)}. The page tries again.` : "No connection";
  else if (state === "saving") text = "Saving…";
  else if (mayWrite) text = "All changes saved";
  return (
    <p class={`save-state ${state}`} role="status" data-state={state}>
      {text}
    </p>
  );
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A note that is not at its path any more, with its id in the trash; null where it is not there either. */
export interface Gone {
  id: string | null;
}

/** What ended the connection, and the way on. */
export function Banner({ live, gone, onReload }: { live: LiveNote; gone: Gone | null; onReload: () => void }) {
  const closed = live.closed.value;
  const path = live.path.value;
  if (closed === "gone" && gone) {
    const restore = async () => {
      const back = gone.id !== null && (await restoreNote({ id: gone.id }));
      if (back) live.follow(back);
    };
    return (
      <div class="notice" role="alert">
        <span>
          {gone.id !== null ? "This note was deleted." : "This note is not here any more: it was deleted, or moved to where you may not see it."}
          {live.saved.value !== "saved" && " Your last changes are not in it."} What you see stays on this page.
        </span>
        <span class="buttons">
          {gone.id !== null && mayOn("write", path) && (
            <button type="button" onClick={() => void restore()}>
              Restore it
            </button>
          )}
          <CopyText text={() => live.text.toString()} />
          <button type="button" onClick={() => navigate("/notes")}>
            Leave
          </button>
        </span>
      </div>
    );
  }
  if (closed === "forbidden") {
    return (
      <div class="notice" role="alert">
        <span>
          The server does not let you {mayOn("read", path) ? "change" : "see"} this note any more.
          {live.saved.value !== "saved" && " Your last changes are not saved; they stay on this page."}
        </span>
        <span class="buttons">
          {live.saved.value !== "saved" && <CopyText text={() => live.text.toString()} />}
          <button type="button" onClick={onReload}>
            Load again
          </button>
        </span>
      </div>
    );
  }
  if (closed === "too-large") {
    return (
      <div class="notice" role="alert">
        <span>The note is too large to be saved. Move some of it into another note, then try again.</span>
        <span class="buttons">
          <CopyText text={() => live.text.toString()} />
          <button type="button" class="primary" onClick={() => live.resume()}>
            Try again
          </button>
        </span>
      </div>
    );
  }
  return null;
}

/** Text that was typed into a former document of this note. */
export function LeftOver({ live }: { live: LiveNote }) {
  const left = live.leftOver.value;
  const [isShown, setShown] = useState(false);
  if (!left.length) return <Elsewhere live={live} />;
  const isAllowed = mayOn("write", live.path.value);
  const text = left.map((one) => one.text).join("\n\n");
  return (
    <div class="notice left-over" role="alert">
      <span>
        {isAllowed ? "The note has begun anew while you had unsaved changes." : "You have unsaved changes, and may not change this note."}{" "}
        Your text is kept, and is not part of the note.
      </span>
      <span class="buttons">
        <button type="button" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
          {isShown ? "Hide it" : "Show it"}
        </button>
        <CopyText text={() => text} />
        <button type="button" class="danger" onClick={() => live.discardLeftOver()}>
          Discard it
        </button>
      </span>
      {isShown && (
        <pre class="left-over-text" tabIndex={0} aria-label="Your unsaved text">
          {text}
        </pre>
      )}
    </div>
  );
}

/** Text that waits for another note, which was here before. */
function Elsewhere({ live }: { live: LiveNote }) {
  const [path] = live.elsewhere.value;
  if (path === undefined) return null;
  return (
    <div class="notice" role="alert">
      <span>This browser keeps unsaved text for a note that was here before: it is {path} now.</span>
      <span class="buttons">
        <button type="button" onClick={() => navigate(`/notes/${inUrl(path)}`)}>
          Open it
        </button>
      </span>
    </div>
  );
}

function CopyText({ text }: { text: () => string }) {
  return (
    <button
      type="button"
      onClick={() =>
        void navigator.clipboard.writeText(text()).then(
          () => say("The text is in the clipboard."),
          () => say("The browser does not allow it; select the text and copy it."),
        )
      }
    >
      Copy the text
    </button>
  );
}
