// One note: opened, followed when it moves, made when it is missing.

import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { inUrl, Refused, told } from "../shell/api";
import { hear } from "../shell/events";
import { navigate } from "../shell/router";
import { session } from "../shell/session";
import { say } from "../shell/toast";
import { asPath, createNote, inTrash, isOwnMove, restoreNote, whereIs } from "./filing";
import { allKept } from "./kept";
import { LiveNote, open } from "./live";
import { mayOn, whyNot } from "./rights";
import type { Gone } from "./status";
import { Workbench } from "./workbench";

const AGAIN_AFTER = 1500; // milliseconds, where the server does not say what became of a note

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
        if (kept.current !== null) opened.offerText(kept.current);
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
    if (!isOwnMove(to)) say(`The note was moved: it is ${to} now.`);
  };
  useEffect(
    () =>
      hear("note", (event: { note: string; was: string; from: string | null }) => {
        if (event.was === "moved" && event.from !== null && event.from === held.current?.path.peek()) {
          follow(event.note);
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
    if (closed !== "gone" && closed !== "anew") return undefined;
    let timer = 0;
    // The epoch tells a note that moved from one that was put in its place: the page follows its own.
    const look = async () => {
      try {
        const found = await whereIs(live.epoch);
        if (live.closed.peek() !== closed) return;
        if (found && !found.trash) {
          if (found.path === live.path.peek()) live.resume();
          else onMoved(found.path);
        } else if (closed === "anew") onReload();
        else setGone({ id: found?.trash ?? null });
      } catch {
        timer = window.setTimeout(() => void look(), AGAIN_AFTER);
      }
    };
    timer = window.setTimeout(() => void look());
    return () => clearTimeout(timer);
  });
  return <Workbench live={live} gone={gone} onMoved={onMoved} onReload={onReload} />;
}

function Missing({ path, problem, onRetry }: { path: string; problem: unknown; onRetry: () => void }) {
  const isMissing = problem instanceof Refused && problem.status === 404;
  const target = asPath(path);
  const [trashed, setTrashed] = useState<{ id: string } | null>(null);
  useEffect(() => {
    if (!isMissing) return;
    inTrash(target).then(setTrashed, () => setTrashed(null));
    void followKept(target);
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

/** A note that is not here, but for which this browser keeps unsaved text, may have moved. */
async function followKept(path: string): Promise<void> {
  for (const { epoch } of allKept(session.peek()?.name ?? "", path)) {
    const found = await whereIs(epoch).catch(() => null);
    if (!found || found.trash) continue;
    navigate(`/notes/${inUrl(found.path)}`, { replace: true });
    say(`The note was moved: it is ${found.path} now.`);
    return;
  }
}
