// What a note links to, what links to it, and what does not exist yet.

import { useEffect, useState } from "preact/hooks";
import { get, inUrl, isAbort, told } from "../shell/api";
import { hear } from "../shell/events";
import { noteName } from "../shell/tree";

interface Links {
  outgoing: { target: string; line: number; resolved: string | null; label: string | null }[];
  backlinks: { source: string; line: number; context: string }[];
  unresolved: { target: string; line: number }[];
  total_outgoing?: number;
  total_backlinks?: number;
}

interface Properties {
  path: string;
  mayWrite: boolean;
  reason: string;
  onLine: (line: number) => void;
  onCreate: (target: string) => void;
}

export function LinksPanel({ path, mayWrite, reason, onLine, onCreate }: Properties) {
  const [links, setLinks] = useState<Links | null>(null);
  const [failure, setFailure] = useState("");
  useEffect(() => {
    let ending = new AbortController();
    let timer = 0;
    const load = () => {
      ending.abort();
      ending = new AbortController();
      get<Links>(`/kb/links/${inUrl(path)}`, { signal: ending.signal })
        .then((found) => {
          setLinks(found);
          setFailure("");
        })
        .catch((error: unknown) => {
          if (!isAbort(error)) setFailure(told(error));
        });
    };
    const soon = () => {
      clearTimeout(timer);
      timer = window.setTimeout(load, 700);
    };
    load();
    const ends = [hear("changed", soon), hear("note", soon), hear("reload", soon)];
    return () => {
      ending.abort();
      clearTimeout(timer);
      ends.forEach((end) => end());
    };
  }, [path]);
  if (failure) return <p class="muted">{failure}</p>;
  if (!links) return <p class="muted">Loading…</p>;
  const resolved = links.outgoing.filter((one) => one.resolved !== null);
  return (
    <>
      <h2 class="panel-title">
        Links here <span class="badge">{links.total_backlinks ?? links.backlinks.length}</span>
      </h2>
      {links.backlinks.length === 0 && <p class="muted">No note links to this one.</p>}
      <ul class="link-list">
        {links.backlinks.map((one) => (
          <li key={`${one.source}:${one.line}`}>
            <a href={`/notes/${inUrl(one.source)}?line=${one.line}`}>{noteName(one.source)}</a>
            <p class="link-context">{one.context}</p>
          </li>
        ))}
      </ul>
      <h2 class="panel-title">
        Links to <span class="badge">{resolved.length}</span>
      </h2>
      {resolved.length === 0 && <p class="muted">This note links to no other.</p>}
      <ul class="link-list">
        {resolved.map((one, at) => (
          <li key={at} class="link-row">
            <a href={`/notes/${inUrl(one.resolved ?? "")}`}>{one.label || noteName(one.resolved ?? "")}</a>
            <button type="button" class="text-button" onClick={() => onLine(one.line)}>
              line {one.line}
            </button>
          </li>
        ))}
      </ul>
      {links.unresolved.length > 0 && (
        <>
          <h2 class="panel-title">
            Not there yet <span class="badge">{links.unresolved.length}</span>
          </h2>
          {!mayWrite && <p class="muted">{reason}</p>}
          <ul class="link-list">
            {links.unresolved.map((one, at) => (
              <li key={at} class="link-row">
                <span>{one.target}</span>
                <button type="button" class="text-button" onClick={() => onLine(one.line)}>
                  line {one.line}
                </button>
                {mayWrite && (
                  <button type="button" aria-label={`Create ${one.target}`} onClick={() => onCreate(one.target)}>
                    Create
                  </button>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
