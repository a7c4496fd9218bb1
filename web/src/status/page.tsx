// The status page: how far the index is, what the server uses, who is connected, and who may be.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Age, counted } from "../shell/age";
import { session } from "../shell/session";
import { visible } from "../shell/visible";
import { milliseconds } from "../search/summary";
import { bytes, duration } from "./figures";
import type { Client, NotesState, RecentCall, Status } from "./state";
import { problem, status, useStatus } from "./state";
import { Tokens } from "./tokens";

const MOST_CALLS = 200;

export default function Page() {
  useStatus();
  useEffect(() => {
    document.title = "Status · flashgrep";
  }, []);
  const now = status.value;
  return (
    <div class="status">
      <h1>Status</h1>
      {problem.value && (
        <p class="search-problem" role="alert">
          {problem.value} {now && "The figures below are older."}
        </p>
      )}
      {!now && !problem.value && <p class="muted">Loading…</p>}
      {now && <Sections now={now} />}
    </div>
  );
}

function Sections({ now }: { now: Status }) {
  const isWhole = now.memory !== undefined; // the server shows the rest to admins
  return (
    <>
      {!isWhole && (
        <p class="status-why">
          You are signed in as <b>{session.value?.name}</b>
          {session.value?.role ? `, with the role ${session.value.role}` : ""}. Memory, clients, calls, notes and tokens are shown to the role
          admin on all folders: ask whoever runs the server for a link with that role.
        </p>
      )}
      <div class="status-cards">
        <Index now={now} />
        {now.memory && <Server now={now} />}
        {now.notes && <Notes notes={now.notes} />}
        {now.notes === null && isWhole && (
          <Card title="Knowledge base">
            <p class="muted">
              None is mounted. Start the server with <code>--kb FOLDER</code> to have one.
            </p>
          </Card>
        )}
      </div>
      {now.clients && <Clients clients={now.clients} />}
      {now.calls && <Calls calls={now.calls} />}
      {isWhole && <Tokens />}
    </>
  );
}

function Card({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card status-card">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Index({ now }: { now: Status }) {
  const index = now.index;
  if (!index) {
    return (
      <Card title="Index">
        <p class="muted">There is none to show: this server has no workspace, or your link is for notes only.</p>
      </Card>
    );
  }
  const percent = Math.floor((index.progress ?? 0) * 100);
  const fresh =
    index.freshness === "watching"
      ? "changes are watched"
      : index.freshness === "sweeping"
        ? "files are looked at now and then"
        : "unknown";
  return (
    <Card title="Index">
      <div class="status-progress">
        {index.state === "off" ? (
          <span>
            Off: searches read every file{index.reason && <span class="muted"> ({visible(index.reason)})</span>}
          </span>
        ) : (
          <>
            <progress max={1} value={index.state === "ready" ? 1 : index.progress} aria-label="Progress of the index" />
            <span>{index.state === "ready" ? "Ready" : `Building, ${percent} %`}</span>
          </>
        )}
      </div>
      <Facts
        rows={[
          ["Files", index.total_files.toLocaleString("en")],
          ["Passages", index.total_chunks.toLocaleString("en")],
          ["Size on disk", bytes(index.index_size_bytes)],
          ["Freshness", fresh],
          ["Last change", index.last_update ? <Age time={Date.parse(index.last_update)} /> : "none yet"],
          ...(now.workspace ? [["Workspace", <bdi class="mono">{visible(now.workspace.path)}</bdi>] as [string, ComponentChildren]] : []),
        ]}
      />
    </Card>
  );
}

function Server({ now }: { now: Status }) {
  return (
    <Card title="Server">
      <Facts
        rows={[
          ["Memory, private", bytes(now.memory?.private_bytes)],
          ["Memory, resident", bytes(now.memory?.resident_bytes)],
          ["Up for", duration(now.uptime_seconds ?? 0)],
          ["Version", session.value?.version ?? "unknown"],
          ["Files can be changed", session.value?.read_only ? "no (--read-only)" : "yes"],
        ]}
      />
    </Card>
  );
}

function Notes({ notes }: { notes: NotesState }) {
  return (
    <Card title="Knowledge base">
      <Facts
        rows={[
          ["Notes", notes.notes.toLocaleString("en")],
          ["Pending suggestions", notes.pending ? <a href="/review">{notes.pending.toLocaleString("en")}</a> : "none"],
          ["In the trash", notes.trash.toLocaleString("en")],
          ["Size on disk", bytes(notes.size_bytes)],
          ["Folder", <bdi class="mono">{visible(notes.path)}</bdi>],
        ]}
      />
      {notes.quarantined.length === 0 ? (
        <p class="status-good">Every note can be read.</p>
      ) : (
        <details class="status-bad" open>
          <summary>{counted(notes.quarantined.length, "note is", "notes are")} set aside as damaged</summary>
          <ul>
            {notes.quarantined.slice(0, 100).map(([path, why]) => (
              <li key={path}>
                <bdi class="mono">{visible(path)}</bdi>: {visible(why)}
              </li>
            ))}
          </ul>
          <p>
            Nothing is lost: what could be read is kept beside the note. Run <code>flashgrep kb check</code> for what to do, or restore an
            older version on the note's page.
          </p>
        </details>
      )}
    </Card>
  );
}

function Facts({ rows }: { rows: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Clients({ clients }: { clients: Client[] }) {
  return (
    <section class="status-section">
      <h2>
        Clients <span class="badge">{clients.length}</span>
      </h2>
      {clients.length === 0 ? (
        <p class="muted">Nobody is connected.</p>
      ) : (
        <Scrolled label="Clients">
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Client</th>
                <th scope="col">By</th>
                <th scope="col">Since</th>
                <th scope="col" class="number">
                  Calls
                </th>
              </tr>
            </thead>
            <tbody>
              {clients.map((one, at) => (
                <tr key={at}>
                  <td>
                    <bdi>{visible(one.name ?? "")}</bdi>
                  </td>
                  <td>
                    <bdi>{visible(one.client ?? "")}</bdi>
                  </td>
                  <td>{one.transport}</td>
                  <td>
                    <Age time={one.since} />
                  </td>
                  <td class="number">{one.calls.toLocaleString("en")}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolled>
      )}
    </section>
  );
}

function Calls({ calls }: { calls: RecentCall[] }) {
  const slowest = Math.max(...calls.map((one) => one.milliseconds), 1);
  return (
    <section class="status-section">
      <h2>Recent calls</h2>
      <p class="muted">Which tool, by whom and how long. What was asked and answered is not kept.</p>
      {calls.length === 0 ? (
        <p class="muted">None since the server was started.</p>
      ) : (
        <Scrolled label="Recent calls">
          <table>
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Tool</th>
                <th scope="col">Client</th>
                <th scope="col" class="number">
                  Time
                </th>
                <th scope="col">
                  <span class="visually-hidden">Bar</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {calls.slice(0, MOST_CALLS).map((one, at) => (
                <tr key={`${one.time} ${at}`}>
                  <td>
                    <Age time={one.time} />
                  </td>
                  <td>
                    <code>{visible(one.tool)}</code>
                    {!one.ok && <span class="status-failed">refused</span>}
                  </td>
                  <td>
                    <bdi>{visible(one.client ?? "")}</bdi>
                  </td>
                  <td class="number">{milliseconds(one.milliseconds)}</td>
                  <td class="bar-cell" aria-hidden="true">
                    <span class="bar" style={{ width: `${barWidth(one.milliseconds, slowest)}%` }} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolled>
      )}
    </section>
  );
}

/** By the logarithm: calls take from a fraction of a millisecond to minutes. */
function barWidth(value: number, slowest: number): number {
  return Math.max((Math.log10(1 + value) / Math.log10(1 + slowest)) * 100, 1);
}

/** A table that scrolls by itself, by keys too. */
export function Scrolled({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="scrolled card" role="region" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}
