// What a person must know about the note they have open: who else is here, what is saved, what is wrong.

import { useEffect, useState } from "preact/hooks";
import { navigate } from "../shell/router";
import { say } from "../shell/toast";
import type { Present } from "./cursors";
import { everybody } from "./cursors";
import { inTrash, restoreNote } from "./filing";
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
        <li key={one.client} class={`person-chip person-${one.colour}`} title={one.isSelf ? `${one.name} (you)` : one.name}>
          <span aria-hidden="true">{[...one.name][0]?.toUpperCase()}</span>
          <span class="visually-hidden">{one.isSelf ? `${one.name} (you)` : one.name}</span>
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

/** Whether what was typed is saved, in words. */
export function SaveState({ live, mayWrite }: { live: LiveNote; mayWrite: boolean }) {
  const state = live.saved.value;
  const isLost = live.connection.value === "lost";
  let text = "";
  if (state === "unsaved") {
    text = live.isKept.value
      ? "Not saved yet: no connection. Your text stays here and in this browser."
      : "Not saved yet: no connection. Your text stays here; keep this page open.";
    if (live.closed.value === "too-large") text = "Not saved: the note is too large.";
    if (live.isBusy.value) text = "Not saved yet: the server is busy. Your text stays here.";
  } else if (isLost && live.closed.value === null) text = live.isBusy.value ? "The server is busy" : "No connection";
  else if (state === "saving") text = "Saving…";
  else if (mayWrite) text = "All changes saved";
  return (
    <p class={`save-state ${state}`} role="status" data-state={state}>
      {text}
    </p>
  );
}

/** What became of a note that is not at its path any more. */
export type Gone = "deleted" | "elsewhere";

/** What ended the connection, and the way on. */
export function Banner({ live, gone, onReload }: { live: LiveNote; gone: Gone | null; onReload: () => void }) {
  const closed = live.closed.value;
  const path = live.path.value;
  if (closed === "gone" && gone) {
    const restore = async () => {
      const note = await inTrash(path).catch(() => null);
      const back = note && (await restoreNote(note));
      if (back) live.follow(back);
    };
    return (
      <div class="notice" role="alert">
        <span>
          {gone === "deleted" ? "This note was deleted." : "This note is not here any more: it was moved or deleted."}
          {live.saved.value !== "saved" && " Your last changes are not in it."} What you see stays on this page.
        </span>
        <span class="buttons">
          {gone === "deleted" && mayOn("write", path) && (
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
          The server does not let you {live.isLoaded.value ? "change" : "open"} this note any more.
          {live.saved.value !== "saved" && " Your last changes are not saved."}
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
  if (!left.length) return null;
  const text = left.map((one) => one.text).join("\n\n");
  return (
    <div class="notice left-over" role="alert">
      <span>The note has begun anew while you had unsaved changes. Your text is kept, and is not part of the note.</span>
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
