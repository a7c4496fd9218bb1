// The status page: how far the index is, what the server uses, who is connected, and who may be.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Age, counted } from "../shell/age";
import { NotesMissing } from "../shell/missing";
import { noFiles, session } from "../shell/session";
import { visible, visibleText } from "../shell/visible";
import { milliseconds } from "../search/summary";
import { bytes, duration } from "./figures";
import type { IndexState } from "../search/index_state";
import type { Client, NotesState, RecentCall, Status } from "./state";
import { problem, status, useStatus } from "./state";
import type { Column } from "./table";
import { Table } from "./table";
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
              This server has no notes. <NotesMissing />
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
        <p class="muted">There is none to show: {noFiles()}.</p>
      </Card>
    );
  }
  const place: [string, ComponentChildren][] = now.workspace ? [["Workspace", <Path of={now.workspace.path} />]] : [];
  if (index.state === "off") {
    return (
      <Card title="Index">
        {session.value?.workspace ? (
          <p>
            Off: searches read every file{index.reason && <span class="muted"> ({visible(index.reason)})</span>}. Answers are the same, and slower
            in a large tree.
          </p>
        ) : (
          <p class="muted">There are no files to index: {noFiles()}. Notes have an index of their own.</p>
        )}
        <Facts rows={place} />
      </Card>
    );
  }
  const percent = Math.floor((index.progress ?? 0) * 100);
  return (
    <Card title="Index">
      <div class="status-progress">
        <progress max={1} value={index.state === "ready" ? 1 : index.progress} aria-label="Progress of the index" />
        <span>{index.state === "ready" ? "Ready" : `Building, ${percent} %`}</span>
      </div>
      {meanwhile(index) && <p class="muted">{meanwhile(index)}</p>}
      <Facts
        rows={[
          ...(index.state === "building" ? [] : whole(index)),
          ...place,
        ]}
      />
    </Card>
  );
}

/** The figures of an index that is whole. */
function whole(index: IndexState): [string, ComponentChildren][] {
  const fresh = index.freshness === "watching" ? "changes are watched" : "each search looks for changes";
  return [
    ["Files", index.total_files.toLocaleString("en")],
    ["Passages", index.total_chunks.toLocaleString("en")],
    ["Size on disk", bytes(index.index_size_bytes)],
    ["Freshness", fresh],
    ["Last change", index.last_update ? <Age time={Date.parse(index.last_update)} /> : "none yet"],
  ];
}

/** What works before the index is whole; nothing to say after that. */
function meanwhile(index: IndexState): string {
  if (index.state === "building") {
    const why = index.reason ? `${visibleText(index.reason)}. ` : "";
    return `${why.charAt(0).toUpperCase()}${why.slice(1)}Everything works meanwhile: searches, queries and symbols read the files themselves.`;
  }
  return index.query_ready ? "" : "Searches use it. Queries read the files themselves until the words are ranked too.";
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
          ["Changes are allowed", session.value?.read_only ? "no (--read-only)" : "yes"],
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
          ["Folder", <Path of={notes.path} />],
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

/** A path that is broken at its slashes, if it must be. */
function Path({ of }: { of: string }) {
  const parts = of.split("/");
  return (
    <bdi class="mono">
      {parts.map((part, at) => (
        <>
          {at > 0 && "/"}
          {at > 0 && <wbr />}
          {visible(part)}
        </>
      ))}
    </bdi>
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

const CLIENT_COLUMNS: Column<Client>[] = [
  { title: "Name", cell: (one) => (one.name === null ? <span class="muted">no token</span> : <bdi>{visible(one.name)}</bdi>) },
  { title: "Client", cell: (one) => <bdi>{visible(one.client ?? "")}</bdi> },
  { title: "By", cell: (one) => one.transport },
  { title: "Since", cell: (one) => <Age time={one.since} /> },
  { title: "Calls", cell: (one) => one.calls.toLocaleString("en"), isNumber: true },
];

function Clients({ clients }: { clients: Client[] }) {
  return (
    <section class="status-section">
      <h2>
        Clients <span class="badge">{clients.length}</span>
      </h2>
      {clients.length === 0 ? (
        <p class="muted">Nobody is connected.</p>
      ) : (
        <Table label="Clients" columns={CLIENT_COLUMNS} rows={clients} id={(_, at) => String(at)} />
      )}
    </section>
  );
}

function callColumns(slowest: number): Column<RecentCall>[] {
  const bar = (one: RecentCall) => <span class="bar" style={{ width: `${barWidth(one.milliseconds, slowest)}%` }} />;
  return [
    { title: "When", cell: (one) => <Age time={one.time} /> },
    { title: "Tool", cell: (one) => <ToolName call={one} /> },
    { title: "Client", cell: (one) => <bdi>{visible(one.client ?? "")}</bdi> },
    { title: "Time", cell: (one) => milliseconds(one.milliseconds), isNumber: true },
    { title: "Bar", cell: bar, isBare: true, isHidden: true, class: "bar-cell" },
  ];
}

function ToolName({ call }: { call: RecentCall }) {
  return (
    <>
      <code>{visible(call.tool)}</code>
      {!call.ok && <span class="status-failed">refused</span>}
    </>
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
        <Table
          label="Recent calls"
          columns={callColumns(slowest)}
          rows={calls.slice(0, MOST_CALLS)}
          id={(one, at) => `${one.time} ${at}`}
        />
      )}
    </section>
  );
}

/** By the logarithm: calls take from a fraction of a millisecond to minutes. */
function barWidth(value: number, slowest: number): number {
  return Math.max((Math.log10(1 + value) / Math.log10(1 + slowest)) * 100, 1);
}
