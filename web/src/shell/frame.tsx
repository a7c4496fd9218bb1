// What is around every page: the way to the others, the tree of notes, messages, and who is here.

import type { ComponentChildren } from "preact";
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { isSignedOut } from "./api";
import { connection } from "./events";
import { openHelp, ShortcutHelp, useShortcuts } from "./keys";
import { openPalette, Palette } from "./palette";
import { navigate, place } from "./router";
import { loadSession, other, session, signOut } from "./session";
import { Toasts } from "./toast";
import { NoteTree } from "./tree";

const isTreeOpen = signal(false);

const PLACES = [
  { name: "Search", address: "/", is: (path: string) => path === "/" || path.startsWith("/file/") },
  { name: "Review", address: "/review", is: (path: string) => path === "/review" },
  { name: "Notes", address: "/notes", is: (path: string) => path.startsWith("/notes") },
  { name: "Status", address: "/status", is: (path: string) => path === "/status" },
];

export function Frame({ children }: { children: ComponentChildren }) {
  const path = place.value.path;
  useEffect(() => {
    isTreeOpen.value = false;
  }, [path]);
  useShortcuts("Everywhere", [
    { keys: ["Ctrl+K"], does: "Go to a note, file or page", run: openPalette, inFields: true },
    { keys: ["g r"], does: "Go to the review page", run: () => navigate("/review"), leaves: true },
    { keys: ["g n"], does: "Go to the notes", run: () => navigate("/notes"), leaves: true },
    { keys: ["g s"], does: "Go to the search page", run: () => navigate("/"), leaves: true },
    { keys: ["g t"], does: "Go to the status page", run: () => navigate("/status"), leaves: true },
    { keys: ["?"], does: "List these shortcuts", run: openHelp },
  ]);
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <header class="top">
        {session.value?.notes && (
          <button
            type="button"
            class="icon-button tree-toggle"
            aria-label="Tree of notes"
            aria-expanded={isTreeOpen.value}
            onClick={() => (isTreeOpen.value = !isTreeOpen.value)}
          >
            ☰
          </button>
        )}
        <a class="brand" href="/">
          flashgrep
        </a>
        <nav aria-label="Pages" class="places">
          {PLACES.map((one) => (
            <a key={one.name} href={one.address} aria-current={one.is(path) ? "page" : undefined}>
              {one.name}
            </a>
          ))}
        </nav>
        <button type="button" class="go-to" onClick={openPalette}>
          <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" class="go-to-sign">
            <path d="M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2Zm3.6 8.6L14.5 14.5" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" />
          </svg>
          <span class="go-to-words">
            Go to… <kbd>Ctrl K</kbd>
          </span>
        </button>
        <Person />
      </header>
      <Notice />
      <div class={`middle ${isTreeOpen.value ? "tree-open" : ""}`}>
        {session.value?.notes && (
          <aside class="side">
            <NoteTree />
          </aside>
        )}
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
      <Toasts />
      <Palette />
      <ShortcutHelp />
    </div>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Person() {
  const who = session.value;
  if (!who) return null;
  return (
    <details class="person">
      <summary aria-label={`Signed in as ${who.name}`}>{who.name}</summary>
      <div class="person-menu">
        <p>
          {who.expires === null ? "Everybody is let in as" : "Signed in as"} <b>{who.name}</b>
          {who.role && who.notes && <>, role {who.role} on notes</>}
        </p>
        <button type="button" onClick={() => openHelp()}>
          Keyboard shortcuts
        </button>
        {who.expires !== null && (
          <button type="button" onClick={() => void signOut()}>
            Sign out
          </button>
        )}
        <p class="muted">flashgrep {who.version}</p>
      </div>
    </details>
  );
}

/** What a person must know before going on: signed out, or no connection. The page stays as it is. */
function Notice() {
  if (other.value !== null) {
    return (
      <div class="notice" role="alert">
        <span>
          <b>{other.value}</b> has signed in in this browser, and this page is {session.value?.name}’s. Nothing you do here is sent until{" "}
          {session.value?.name} signs in again.
        </span>
        <button type="button" class="primary" onClick={() => void loadSession()}>
          Try again
        </button>
        <button type="button" onClick={() => location.reload()}>
          Go on as {other.value}
        </button>
      </div>
    );
  }
  if (isSignedOut.value) {
    return (
      <div class="notice" role="alert">
        <span>
          Your sign-in has expired. Open a new link (<code>flashgrep open</code>) in another tab, then go on here. Nothing on this page is
          lost.
        </span>
        <button type="button" class="primary" onClick={() => void loadSession()}>
          Try again
        </button>
      </div>
    );
  }
  if (connection.value === "lost") {
    return (
      <div class="notice" role="status">
        The connection to the server is lost. Trying again…
      </div>
    );
  }
  return null;
}
