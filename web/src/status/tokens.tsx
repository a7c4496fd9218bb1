// Who may come in: the tokens, and making and revoking them.

import { useState } from "preact/hooks";
import { post, remove, told } from "../shell/api";
import { Age } from "../shell/age";
import { Confirm, Dialog } from "../shell/dialog";
import { useNotes } from "../shell/notes";
import { session } from "../shell/session";
import { complain, say } from "../shell/toast";
import { visible } from "../shell/visible";
import type { Token } from "./state";
import { loadTokens, status, tokens, tokensProblem } from "./state";
import type { Column } from "./table";
import { Table } from "./table";

interface Made {
  name: string;
  token: string | null;
  link: string | null;
}

export function Tokens() {
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<Made | null>(null);
  const [revoking, setRevoking] = useState<Token | null>(null);
  const all = tokens.value;
  return (
    <section class="status-section">
      <div class="status-head">
        <h2>Tokens</h2>
        {!tokensProblem.value && all && (
          <button type="button" class="primary" onClick={() => setMaking(true)}>
            New token or link
          </button>
        )}
      </div>
      {status.value?.notes === null && (
        <p class="muted">
          Tokens belong to a knowledge base; this server has none. Its own token and link are printed where it was started.
        </p>
      )}
      {tokensProblem.value && <p class="muted">{visible(tokensProblem.value)}</p>}
      {all && !tokensProblem.value && (all.length ? <Rows rows={all} onRevoke={setRevoking} onLink={(token) => void newLink(token.name).then((one) => one && setMade(one))} /> : <p class="muted">There are none yet.</p>)}
      {isMaking && (
        <NewToken
          onClose={() => setMaking(false)}
          onMade={(one) => {
            setMaking(false);
            setMade(one);
            void loadTokens();
          }}
        />
      )}
      {made && <Secret made={made} onClose={() => setMade(null)} />}
      {revoking && (
        <Confirm
          title="Revoke a token"
          text={`${revoking.name} can then no longer come in, and whoever is signed in with it is signed out. This cannot be undone.`}
          action={`Revoke ${revoking.name}`}
          danger
          onClose={() => setRevoking(null)}
          onConfirm={() => void revoke(revoking.name)}
        />
      )}
    </section>
  );
}

/** One more sign-in link for a token that is there: its secret is known to nobody. */
async function newLink(name: string): Promise<Made | null> {
  try {
    return await post<Made>("/api/tokens", { name, link: true });
  } catch (error) {
    complain(told(error));
    return null;
  }
}

async function revoke(name: string): Promise<void> {
  try {
    await remove(`/api/tokens/${encodeURIComponent(name)}`);
    say(`${name} is revoked.`);
  } catch (error) {
    complain(told(error));
  }
  await loadTokens().catch(() => undefined);
}

interface RowsProperties {
  rows: Token[];
  onRevoke: (token: Token) => void;
  onLink: (token: Token) => void;
}

function Rows({ rows, onRevoke, onLink }: RowsProperties) {
  const actions = (one: Token) => (
    <>
      {!one.is_agents && (
        <button
          type="button"
          aria-label={`New link for ${one.name}`}
          title={`For a person: whoever opens it is signed in as ${one.name}`}
          onClick={() => onLink(one)}
        >
          New link
        </button>
      )}
      <button type="button" class="danger" aria-label={`Revoke ${one.name}`} onClick={() => onRevoke(one)}>
        Revoke
      </button>
    </>
  );
  const columns: Column<Token>[] = [
    { title: "Name", cell: (one) => <bdi>{visible(one.name)}</bdi>, isHead: true },
    { title: "Role", cell: (one) => one.role },
    {
      title: "Folders",
      cell: (one) => (one.folders.filter(Boolean).length ? <bdi class="mono">{visible(one.folders.join(", "))}</bdi> : "all"),
    },
    { title: "Made", cell: (one) => (one.made === null ? "unknown" : <Age time={one.made} />) },
    { title: "Last use", cell: (one) => (one.last_used === null ? "never" : <Age time={one.last_used} />) },
    { title: "Expires", cell: (one) => (one.expires === null ? "never" : <Until time={one.expires} />) },
    { title: "What to do", cell: actions, isBare: true, class: "token-actions" },
  ];
  return <Table label="Tokens" columns={columns} rows={rows} id={(one) => one.name} />;
}

const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

function Until({ time }: { time: number }) {
  return (
    <time dateTime={new Date(time).toISOString()} class={time < Date.now() ? "status-failed" : ""}>
      {time < Date.now() ? "expired " : ""}
      {day.format(time)}
    </time>
  );
}

const ROLES: [string, string][] = [
  ["read", "reads notes"],
  ["suggest", "reads and comments; an agent can also suggest changes"],
  ["write", "also edits notes and decides on suggestions"],
  ["admin", "also sees this page in full and makes tokens"],
];

const EXPIRIES: [string, number][] = [
  ["in a day", 1],
  ["in a week", 7],
  ["in 30 days", 30],
  ["in 90 days", 90],
  ["in a year", 365],
  ["never", 0],
];

const DAY_MILLISECONDS = 86_400_000;

function NewToken({ onClose, onMade }: { onClose: () => void; onMade: (made: Made) => void }) {
  const [wrong, setWrong] = useState("");
  const [isBusy, setBusy] = useState(false);
  const folders = noteFolders((useNotes() ?? []).map((one) => one.path));
  const make = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    const days = Number(data.get("days"));
    const folder = String(data.get("folder") ?? "").trim();
    setBusy(true);
    try {
      const made = await post<Made>("/api/tokens", {
        name: String(data.get("name")).trim(),
        role: String(data.get("role")),
        ...(folder ? { folder } : {}),
        ...(days ? { expires: Date.now() + days * DAY_MILLISECONDS } : {}),
        link: data.get("link") !== null,
      });
      onMade(made);
    } catch (error) {
      setWrong(told(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title="New token or link" onClose={onClose}>
      <form
        class="token-form"
        onSubmit={(event) => {
          event.preventDefault();
          void make(event.currentTarget);
        }}
      >
        <label>
          <span>Name</span>
          <input name="name" type="text" required autocomplete="off" spellcheck={false} autofocus />
          <small class="muted">What others see beside suggestions and edits: a person, or a program.</small>
        </label>
        <label>
          <span>Role</span>
          <select name="role">
            {ROLES.map(([role, does]) => (
              <option key={role} value={role} selected={role === "suggest"}>
                {role}: {does}
              </option>
            ))}
          </select>
        </label>
        {session.value?.notes && (
          <label>
            <span>Folder of notes</span>
            <input name="folder" type="text" list="token-folders" autocomplete="off" placeholder="all" spellcheck={false} />
            <datalist id="token-folders">
              {folders.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          </label>
        )}
        <label>
          <span>Expires</span>
          <select name="days">
            {EXPIRIES.map(([words, days]) => (
              <option key={days} value={days} selected={days === 90}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <label class="check">
          <input name="link" type="checkbox" checked />
          Give a sign-in link for a person instead of a token for a program
        </label>
        <p class="search-problem" aria-live="polite">
          {visible(wrong)}
        </p>
        <footer class="dialog-foot">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isBusy}>
            Make
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** The folders that notes are in, for completion. */
function noteFolders(paths: string[]): string[] {
  const found = new Set<string>();
  for (const path of paths) {
    for (let at = path.indexOf("/"); at > 0 && found.size < 500; at = path.indexOf("/", at + 1)) found.add(path.slice(0, at));
  }
  return [...found].sort();
}

/** A secret, shown once. */
function Secret({ made, onClose }: { made: Made; onClose: () => void }) {
  const text = made.link ?? made.token ?? "";
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say("Copied.");
    } catch {
      complain("The browser does not let this page copy. Select the text and copy it.");
    }
  };
  return (
    <Dialog title={made.link ? `A link for ${made.name}` : `A token for ${made.name}`} onClose={onClose}>
      <p>
        {made.link
          ? "Whoever opens this link is signed in under that name. It works once. Send it where only they can read it."
          : "The program sends it as a bearer token. Keep it where only the program can read it."}{" "}
        <b>It is shown only now.</b>
      </p>
      <div class="secret">
        <input type="text" readOnly value={text} aria-label={made.link ? "Sign-in link" : "Token"} onFocus={(event) => event.currentTarget.select()} />
        <button type="button" class="primary" onClick={() => void copy()}>
          Copy
        </button>
      </div>
      <footer class="dialog-foot">
        <button type="button" onClick={onClose}>
          Done
        </button>
      </footer>
    </Dialog>
  );
}
