// /notes without a note: what changed lately, the folders, and the trash.

import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, inUrl, told } from "../shell/api";
import { Age, counted } from "../shell/age";
import { hear } from "../shell/events";
import type { NoteRow } from "../shell/notes";
import { useNotes } from "../shell/notes";
import { navigate, place } from "../shell/router";
import { noteName } from "../shell/tree";
import type { Trashed } from "./filing";
import { DeleteFolder, MoveFolderDialog, NewNoteDialog, restoreNote } from "./filing";
import { mayOn, whyNot } from "./rights";

const MOST = 100;
const MOST_TRASHED = 100;

type Asked = { kind: "new" | "move" | "delete"; folder: string } | null;
const asked = signal<Asked>(null);

interface Folder {
  path: string;
  notes: number;
  changed: number;
}

/** The notes below a folder, and the folders right in it. */
function within(rows: readonly NoteRow[], folder: string): { notes: NoteRow[]; folders: Folder[] } {
  const prefix = folder ? `${folder}/` : "";
  const notes = rows.filter((row) => row.path.startsWith(prefix));
  const folders = new Map<string, Folder>();
  for (const { path, changed } of notes) {
    const end = path.indexOf("/", prefix.length);
    if (end < 0) continue;
    const below = path.slice(0, end);
    const held = folders.get(below);
    if (held) {
      held.notes++;
      held.changed = Math.max(held.changed, changed);
    } else folders.set(below, { path: below, notes: 1, changed });
  }
  return {
    notes: notes.sort((one, other) => other.changed - one.changed),
    folders: [...folders.values()].sort((one, other) => one.path.localeCompare(other.path)),
  };
}

export function NoteList() {
  const rows = useNotes();
  const folder = place.value.query.get("folder") ?? "";
  const found = useMemo(() => within(rows ?? [], folder), [rows, folder]);
  const mayWrite = mayOn("write", folder);
  if (!rows) return <p class="empty muted">Loading the notes…</p>;
  const ask = (kind: "new" | "move" | "delete") => (asked.value = { kind, folder });
  return (
    <div class="note-list">
      <header class="note-list-head">
        <div>
          <h1>{folder ? <Crumbs folder={folder} /> : "Notes"}</h1>
          <p class="muted">{counted(found.notes.length, "note")}</p>
        </div>
        {mayWrite ? (
          <div class="buttons">
            {folder && (
              <>
                <button type="button" onClick={() => ask("move")}>
                  Rename folder
                </button>
                <button type="button" class="danger" onClick={() => ask("delete")}>
                  Delete folder
                </button>
              </>
            )}
            <button type="button" class="primary" onClick={() => ask("new")}>
              New note
            </button>
          </div>
        ) : (
          <p class="muted why-not">{whyNot("write", folder, "make notes")}</p>
        )}
      </header>
      {found.folders.length > 0 && (
        <section aria-labelledby="folders-title">
          <h2 id="folders-title">Folders</h2>
          <ul class="folder-cards">
            {found.folders.slice(0, MOST).map((one) => (
              <li key={one.path}>
                <a class="card folder-card" href={`/notes?folder=${encodeURIComponent(one.path)}`}>
                  <b>{noteName(one.path)}</b>
                  <span class="muted">{counted(one.notes, "note")}</span>
                </a>
              </li>
            ))}
          </ul>
          {found.folders.length > MOST && <p class="muted">{found.folders.length - MOST} more are in the tree.</p>}
        </section>
      )}
      <section aria-labelledby="recent-title">
        <h2 id="recent-title">Recently changed</h2>
        {found.notes.length === 0 && (
          <p class="muted">There are no notes here yet.{mayWrite && " New note makes the first one."}</p>
        )}
        <ul class="recent">
          {found.notes.slice(0, MOST).map((row) => (
            <li key={row.path}>
              <a href={`/notes/${inUrl(row.path)}`}>
                <span class="recent-name">
                  {noteName(row.path)}
                  {row.path.includes("/") && <small class="muted">{row.path.slice(0, row.path.lastIndexOf("/"))}</small>}
                </span>
                {row.pending > 0 && <span class="badge">{row.pending} pending</span>}
                {row.changed > 0 && <Age time={row.changed} />}
              </a>
            </li>
          ))}
        </ul>
        {found.notes.length > MOST && (
          <p class="muted">
            {counted(found.notes.length - MOST, "older note")}; <kbd>Ctrl K</kbd> finds any by a few letters.
          </p>
        )}
      </section>
      {!folder && <Trash />}
      <Dialogs />
    </div>
  );
}

function Crumbs({ folder }: { folder: string }) {
  const names = folder.split("/");
  return (
    <span class="crumbs">
      <a href="/notes">Notes</a>
      {names.map((name, at) => (
        <span key={at}>
          {" / "}
          {at < names.length - 1 ? (
            <a href={`/notes?folder=${encodeURIComponent(names.slice(0, at + 1).join("/"))}`}>{name}</a>
          ) : (
            name
          )}
        </span>
      ))}
    </span>
  );
}

function Dialogs() {
  const rows = useNotes() ?? []; // as they are now: another may come while the question is open
  const now = asked.value;
  const close = () => (asked.value = null);
  if (!now) return null;
  if (now.kind === "new") return <NewNoteDialog folder={now.folder} onClose={close} />;
  if (now.kind === "move") return <MoveFolderDialog folder={now.folder} onClose={close} />;
  const count = rows.filter((row) => row.path.startsWith(`${now.folder}/`)).length;
  return <DeleteFolder folder={now.folder} count={count} onClose={close} />;
}

function Trash() {
  const [trash, setTrash] = useState<Trashed[] | string | null>(null);
  useEffect(() => {
    let timer = 0;
    const load = () => {
      get<{ notes: Trashed[] }>("/kb/trash")
        .then((answer) => setTrash(answer.notes))
        .catch((error: unknown) => setTrash(told(error)));
    };
    const soon = () => {
      clearTimeout(timer);
      timer = window.setTimeout(load, 300);
    };
    load();
    const ends = [hear("note", soon), hear("reload", soon)];
    return () => {
      clearTimeout(timer);
      ends.forEach((end) => end());
    };
  }, []);
  if (trash === null || (Array.isArray(trash) && !trash.length)) return null;
  return (
    <details class="trash">
      <summary>
        <h2>Trash</h2> {Array.isArray(trash) && <span class="badge">{trash.length}</span>}
      </summary>
      {typeof trash === "string" && <p class="muted">{trash}</p>}
      {Array.isArray(trash) && (
        <ul class="recent">
          {trash.slice(0, MOST_TRASHED).map((one) => (
            <li key={one.id} class="trash-row">
              <span class="recent-name">{one.path}</span>
              <Age time={one.deleted} />
              {mayOn("write", one.path) ? (
                <button
                  type="button"
                  aria-label={`Restore ${one.path}`}
                  onClick={() => void restoreNote(one).then((path) => path && navigate(`/notes/${inUrl(path)}`))}
                >
                  Restore
                </button>
              ) : (
                <span class="muted">{whyNot("write", one.path, "restore it")}</span>
              )}
            </li>
          ))}
        </ul>
      )}
      {Array.isArray(trash) && trash.length > MOST_TRASHED && (
        <p class="muted">The {MOST_TRASHED} deleted last are shown.</p>
      )}
    </details>
  );
}
