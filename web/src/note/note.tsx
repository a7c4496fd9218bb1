// One note: opened, followed when it moves, made when it is missing.

import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, inUrl, Refused, told } from "../shell/api";
import { hear } from "../shell/events";
import { navigate } from "../shell/router";
import { say } from "../shell/toast";
import { asPath, createNote, inTrash, isOwnMove, restoreNote } from "./filing";
import type { Opened } from "./live";
import { LiveNote, open } from "./live";
import { mayOn, whyNot } from "./rights";
import type { Gone } from "./status";
import { Workbench } from "./workbench";

const PATIENCE = 1500; // milliseconds for the news that a note moved, after its connection ended

export default function NotePage({ path }: { path: string }) {
  const [live, setLive] = useState<LiveNote | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  const held = useRef<LiveNote | null>(null);
  const kept = useRef<string | null>(null); // text that a new document could not take over

  useEffect(() => {
    if (held.current?.path.peek() === path && !held.current.isOver) return undefined;
    held.current?.leave();
    held.current = null;
    setLive(null);
    setProblem(null);
    let isOver = false;
    open(path).then(
      (opened) => {
        if (isOver) return opened.leave();
        if (kept.current !== null) opened.offer(kept.current);
        kept.current = null;
        held.current = opened;
        setLive(opened);
        if (opened.path.peek() !== path) navigate(`/notes/${inUrl(opened.path.peek())}`, { replace: true });
      },
      (error: unknown) => {
        if (!isOver) setProblem(error);
      },
    );
    return () => {
      isOver = true;
    };
  }, [path, attempt]);
  useEffect(() => () => held.current?.leave(), []);

  const follow = (to: string) => {
    const note = held.current;
    if (!note || note.path.peek() === to) return;
    note.follow(to);
    navigate(`/notes/${inUrl(to)}${location.search}`, { replace: true });
  };
  useEffect(
    () =>
      hear("note", (event: { note: string; was: string; from: string | null }) => {
        if (event.was === "moved" && event.from !== null && event.from === held.current?.path.peek()) {
          follow(event.note);
          if (!isOwnMove(event.note)) say(`The note was moved: it is ${event.note} now.`);
        } else if (event.was === "created" && event.note === path && !held.current) setAttempt((count) => count + 1);
      }),
    [path],
  );

  const reload = () => {
    const note = held.current;
    if (note && note.saved.peek() !== "saved") kept.current = note.text.toString();
    note?.end();
    setAttempt((count) => count + 1);
  };

  if (problem) return <Missing path={path} problem={problem} onRetry={() => setAttempt((count) => count + 1)} />;
  if (!live) return <p class="empty muted">Loading…</p>;
  return <Followed key={live.doc.guid} live={live} onReload={reload} onMoved={follow} />;
}

function Followed({ live, onReload, onMoved }: { live: LiveNote; onReload: () => void; onMoved: (path: string) => void }) {
  const [gone, setGone] = useState<Gone | null>(null);
  useSignalEffect(() => {
    const closed = live.closed.value;
    if (closed === null) setGone(null);
    if (closed === "anew") onReload();
    if (closed !== "gone") return undefined;
    const path = live.path.peek();
    const look = async () => {
      try {
        const note = await get<Opened>(`/kb/notes/${inUrl(path)}`);
        if (note.epoch === live.epoch) live.resume();
        else onReload();
      } catch (error) {
        const isMissing = error instanceof Refused && error.status === 404;
        const trashed = isMissing && (await inTrash(path).catch(() => null));
        // The news of a move may have been missed: then it is in neither place.
        if (live.closed.peek() === "gone" && live.path.peek() === path) setGone(trashed ? "deleted" : "elsewhere");
      }
    };
    const timer = setTimeout(() => void look(), PATIENCE);
    return () => clearTimeout(timer);
  });
  return <Workbench live={live} gone={gone} onMoved={onMoved} onReload={onReload} />;
}

function Missing({ path, problem, onRetry }: { path: string; problem: unknown; onRetry: () => void }) {
  const isMissing = problem instanceof Refused && problem.status === 404;
  const target = asPath(path);
  const [trashed, setTrashed] = useState<{ id: string } | null>(null);
  useEffect(() => {
    if (isMissing) inTrash(target).then(setTrashed, () => setTrashed(null));
  }, [path]);
  if (!isMissing) {
    return (
      <div class="empty" role="alert">
        <p>{told(problem)}</p>
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      </div>
    );
  }
  const mayWrite = mayOn("write", target);
  return (
    <div class="empty">
      <h1>There is no note {target}</h1>
      {trashed && <p>A note that was here is in the trash.</p>}
      {!mayWrite && <p class="muted">{whyNot("write", target, "make it")}</p>}
      {mayWrite && (
        <p class="buttons centred">
          {trashed && (
            <button type="button" onClick={() => void restoreNote(trashed).then((back) => back && onRetry())}>
              Restore it
            </button>
          )}
          <button type="button" class="primary" onClick={() => void createNote(target).then((isMade) => isMade && onRetry())}>
            Create it
          </button>
        </p>
      )}
    </div>
  );
}
