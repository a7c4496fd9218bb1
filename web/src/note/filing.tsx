// Making, moving and deleting notes and folders.

import { useState } from "preact/hooks";
import { get, inUrl, post, Refused, remove, told } from "../shell/api";
import { counted } from "../shell/age";
import { Confirm, Dialog } from "../shell/dialog";
import { navigate } from "../shell/router";
import { complain, say } from "../shell/toast";

/** A path of a note as people type it: with its ending, without needless slashes. */
export function asPath(typed: string): string {
  const path = typed
    .split("/")
    .map((part) => part.trim())
    .filter(Boolean)
    .join("/");
  return path && !/\.md$/i.test(path) ? `${path}.md` : path;
}

export async function createNote(path: string): Promise<boolean> {
  try {
    const made = await post<{ path: string }>("/kb/notes", { path, text: "" });
    navigate(`/notes/${inUrl(made.path)}`);
    return true;
  } catch (error) {
    complain(told(error));
    return false;
  }
}

interface Question {
  title: string;
  label: string;
  hint: string;
  action: string;
  value: string;
  onDone: (value: string) => Promise<boolean>;
  onClose: () => void;
}

/** Ask for a path. */
export function PathDialog({ title, label, hint, action, value, onDone, onClose }: Question) {
  const [typed, setTyped] = useState(value);
  const [isBusy, setBusy] = useState(false);
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setBusy(true);
          void onDone(typed).then((isDone) => (isDone ? onClose() : setBusy(false)));
        }}
      >
        <label class="field">
          {label}
          <input
            type="text"
            autofocus
            autocomplete="off"
            spellcheck={false}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <p class="muted">{hint}</p>
        <footer class="dialog-foot">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isBusy || !typed.trim()}>
            {action}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

export function NewNoteDialog({ folder, onClose }: { folder: string; onClose: () => void }) {
  return (
    <PathDialog
      title="New note"
      label="Name"
      hint="Slashes make folders: Projects/Plan"
      action="Create"
      value={folder ? `${folder}/` : ""}
      onDone={(typed) => createNote(asPath(typed))}
      onClose={onClose}
    />
  );
}

interface Followed {
  /** Links that follow… */
  links?: number;
  /** …and those that could not. */
  left?: number;
}

interface Moved extends Followed {
  path: string;
}

/** Where this page is moving a note, so that the news of it is no news here. */
let ownMove = "";

export function isOwnMove(path: string): boolean {
  return path === ownMove;
}

export function MoveNoteDialog({
  path,
  settled,
  onMoved,
  onClose,
}: {
  path: string;
  settled: () => Promise<void>;
  onMoved: (path: string) => void;
  onClose: () => void;
}) {
  const move = async (typed: string) => {
    const to = asPath(typed);
    if (to === path) return true;
    try {
      await settled();
      ownMove = to;
      const moved = await post<Moved>("/kb/notes/move", { from: path, to });
      onMoved(moved.path);
      say(`The note is now ${moved.path}.${followed(moved)}`);
      return true;
    } catch (error) {
      complain(told(error));
      return false;
    }
  };
  return (
    <PathDialog
      title="Rename or move the note"
      label="New name"
      hint="Slashes make folders. Links in other notes follow; you are told how many."
      action="Move"
      value={path.replace(/\.md$/i, "")}
      onDone={move}
      onClose={onClose}
    />
  );
}

function followed({ links, left }: Followed): string {
  const parts = [];
  if (links !== undefined) parts.push(links ? `${counted(links, "link")} followed.` : "No link had to follow.");
  if (left) parts.push(`${counted(left, "link")} could not, and must be mended by hand.`);
  return parts.map((one) => ` ${one}`).join("");
}

export function MoveFolderDialog({ folder, onClose }: { folder: string; onClose: () => void }) {
  const move = async (typed: string) => {
    const to = asPath(typed).replace(/\.md$/i, "");
    if (to === folder) return true;
    try {
      const moved = await post<{ notes: number } & Followed>("/kb/folders/move", { from: folder, to });
      say(`${counted(moved.notes, "note")} moved to ${to}/.${followed(moved)}`);
      navigate(`/notes?folder=${encodeURIComponent(to)}`);
      return true;
    } catch (error) {
      complain(told(error));
      return false;
    }
  };
  return (
    <PathDialog
      title="Rename or move the folder"
      label="New name"
      hint="All notes in it move. Links in other notes follow; you are told how many."
      action="Move"
      value={folder}
      onDone={move}
      onClose={onClose}
    />
  );
}

// ── deleting ─────────────────────────────────────────────────────────────────────────────────

export interface Trashed {
  id: string;
  path: string;
  deleted: number;
}

/** Bring a note back from the trash. */
export async function restoreNote(note: { id: string }): Promise<string | null> {
  try {
    const back = await post<{ path: string }>("/kb/trash/restore", { id: note.id });
    say(`${back.path} is restored.`);
    return back.path;
  } catch (error) {
    complain(told(error));
    return null;
  }
}

/** The newest in the trash that was at a path. */
export async function inTrash(path: string): Promise<Trashed | null> {
  const { notes } = await get<{ notes: Trashed[] }>("/kb/trash");
  return notes.find((one) => one.path === path) ?? null;
}

export interface Place {
  path: string;
  epoch: string;
  /** Its id in the trash; null where it is not deleted. */
  trash: string | null;
}

/** Where the note of an epoch is now, or was when it was deleted; null where nobody can see it. */
export async function whereIs(epoch: string): Promise<Place | null> {
  try {
    return await get<Place>(`/kb/where?epoch=${encodeURIComponent(epoch)}`);
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return null;
    throw error;
  }
}

async function undoDelete(path: string): Promise<void> {
  try {
    const note = await inTrash(path);
    const back = note && (await restoreNote(note));
    if (back) navigate(`/notes/${inUrl(back)}`);
    else if (!note) complain(`${path} is not in the trash any more.`);
  } catch (error) {
    complain(told(error));
  }
}

export function DeleteNote({ path, onDeleted, onClose }: { path: string; onDeleted: () => void; onClose: () => void }) {
  const work = async () => {
    try {
      await remove(`/kb/notes/${inUrl(path)}`);
      onDeleted();
      say(`${path} is in the trash.`, { name: "Undo", run: () => void undoDelete(path) });
    } catch (error) {
      complain(told(error));
    }
  };
  return (
    <Confirm
      title="Delete this note?"
      text={`${path} goes to the trash, from where it can be restored. Links to it lead nowhere meanwhile.`}
      action="Delete"
      danger
      onConfirm={() => void work()}
      onClose={onClose}
    />
  );
}

export function DeleteFolder({ folder, count, onClose }: { folder: string; count: number; onClose: () => void }) {
  const work = async () => {
    try {
      const gone = await remove<{ notes: number }>(`/kb/folders/${inUrl(folder)}`);
      say(`${counted(gone.notes, "note")} of ${folder}/ went to the trash.`);
      navigate("/notes");
    } catch (error) {
      complain(told(error));
    }
  };
  return (
    <Confirm
      title="Delete this folder?"
      text={`${counted(count, "note")} in ${folder}/ ${count === 1 ? "goes" : "go"} to the trash, from where each can be restored.`}
      action={`Delete ${counted(count, "note")}`}
      danger
      onConfirm={() => void work()}
      onClose={onClose}
    />
  );
}
