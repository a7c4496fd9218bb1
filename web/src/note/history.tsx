// Versions of a note: who changed it when, what differs from now, and the way back.

import { useEffect, useState } from "preact/hooks";
import { get, inUrl, isAbort, post, told } from "../shell/api";
import { Age, exactTime } from "../shell/age";
import { Confirm, Dialog } from "../shell/dialog";
import type { Piece } from "../shell/diff";
import { wordDiff } from "../shell/diff";
import { hear } from "../shell/events";
import { complain, say } from "../shell/toast";

interface Version {
  version: number;
  author: string;
  /** Who else changed it since the version before, as far as that is known. */
  others: string[];
  time: number;
}

interface Properties {
  path: string;
  mayWrite: boolean;
  reason: string;
  now: () => string;
}

const MOST = 200;

export function HistoryPanel({ path, mayWrite, reason, now }: Properties) {
  const [versions, setVersions] = useState<Version[] | null>(null);
  const [failure, setFailure] = useState("");
  const [shown, setShown] = useState<Version | null>(null);
  const [most, setMost] = useState(MOST);
  useEffect(() => {
    let ending = new AbortController();
    let timer = 0;
    const load = () => {
      ending.abort();
      ending = new AbortController();
      get<{ versions: Version[] }>(`/kb/history/${inUrl(path)}`, { signal: ending.signal })
        .then((answer) => setVersions(answer.versions))
        .catch((error: unknown) => {
          if (!isAbort(error)) setFailure(told(error));
        });
    };
    const soon = (event: { note?: string }) => {
      if (event.note !== undefined && event.note !== path) return;
      clearTimeout(timer);
      timer = window.setTimeout(load, 1500);
    };
    load();
    const ends = [hear("changed", soon), hear("reload", soon)];
    return () => {
      ending.abort();
      clearTimeout(timer);
      ends.forEach((end) => end());
    };
  }, [path]);
  if (failure) return <p class="muted">{failure}</p>;
  if (!versions) return <p class="muted">Loading…</p>;
  return (
    <>
      {versions.length === 0 && <p class="muted">No older version is kept yet.</p>}
      <ul class="versions">
        {versions.slice(0, most).map((one) => (
          <li key={one.version}>
            <button type="button" onClick={() => setShown(one)}>
              <b>{one.author || "unknown"}</b>
              {one.others.length > 0 && <span class="muted"> with {named(one.others)}</span>} <Age time={one.time} />
            </button>
          </li>
        ))}
      </ul>
      {versions.length > most && (
        <button type="button" onClick={() => setMost(most + MOST)}>
          Show more
        </button>
      )}
      {shown && (
        <VersionDialog path={path} version={shown} mayWrite={mayWrite} reason={reason} now={now} onClose={() => setShown(null)} />
      )}
    </>
  );
}

const MOST_NAMES = 5;

function named(authors: readonly string[]): string {
  const more = authors.length - MOST_NAMES;
  return authors.slice(0, MOST_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function VersionDialog({ path, version, mayWrite, reason, now, onClose }: Properties & { version: Version; onClose: () => void }) {
  const [text, setText] = useState<string | null>(null);
  const [failure, setFailure] = useState("");
  const [isAsking, setAsking] = useState(false);
  useEffect(() => {
    get<{ text: string }>(`/kb/history/${inUrl(path)}?version=${version.version}`)
      .then((answer) => setText(answer.text))
      .catch((error: unknown) => setFailure(told(error)));
  }, []);
  const restore = async () => {
    try {
      await post("/kb/notes/restore", { path, version: version.version });
      say("The version is restored. What was there before is in the history.");
      onClose();
    } catch (error) {
      complain(told(error));
    }
  };
  return (
    <Dialog title={`Version of ${exactTime(version.time)}`} class="wide-dialog" onClose={onClose}>
      <p class="muted">
        By {version.author || "unknown"}
        {version.others.length > 0 && `, with ${named(version.others)}`}. <ins>Underlined</ins> came since, <del>struck out</del> went.
      </p>
      {failure && <p>{failure}</p>}
      {text === null && !failure && <p class="muted">Loading…</p>}
      {text !== null && <Difference old={text} fresh={now()} />}
      <footer class="dialog-foot">
        {!mayWrite && <span class="muted">{reason}</span>}
        <button type="button" onClick={onClose}>
          Close
        </button>
        {mayWrite && (
          <button type="button" class="primary" disabled={text === null} onClick={() => setAsking(true)}>
            Restore
          </button>
        )}
      </footer>
      {isAsking && (
        <Confirm
          title="Restore this version?"
          text="The note gets this text again. The text of now stays in the history."
          action="Restore"
          onConfirm={() => void restore()}
          onClose={() => setAsking(false)}
        />
      )}
    </Dialog>
  );
}

const AROUND = 2; // lines around a change

function Difference({ old, fresh }: { old: string; fresh: string }) {
  if (old === fresh) return <p>It is the same text as now.</p>;
  return (
    <pre class="difference" tabIndex={0} aria-label="What changed">
      {folded(wordDiff(old, fresh)).map((piece, at) =>
        piece === null ? (
          <span key={at} class="fold">
            ⋯{"\n"}
          </span>
        ) : piece.kind === "inserted" ? (
          <ins key={at}>{piece.text}</ins>
        ) : piece.kind === "deleted" ? (
          <del key={at}>{piece.text}</del>
        ) : (
          <span key={at}>{piece.text}</span>
        ),
      )}
    </pre>
  );
}

/** Long stretches that stayed the same, cut to a few lines; null where something is left out. */
export function folded(pieces: readonly Piece[]): (Piece | null)[] {
  return pieces.flatMap((piece, at): (Piece | null)[] => {
    if (piece.kind !== "same") return [piece];
    const lines = piece.text.split(/(?<=\n)/);
    const before = at > 0 ? AROUND + 1 : 0;
    const after = at < pieces.length - 1 ? AROUND + 1 : 0;
    if (lines.length <= before + after + 1) return [piece];
    const part = (text: string): Piece[] => (text ? [{ kind: "same", text }] : []);
    return [...part(lines.slice(0, before).join("")), null, ...part(after ? lines.slice(-after).join("") : "")];
  });
}
