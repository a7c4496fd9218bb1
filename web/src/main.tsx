// Begins here: who is signed in, then the page that the address names. Each page is a chunk of its own.

import type { ComponentType } from "preact";
import { render } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { signal } from "@preact/signals";
import { told } from "./shell/api";
import { Frame } from "./shell/frame";
import { followNotes } from "./shell/notes";
import { place } from "./shell/router";
import { loadSession, session } from "./shell/session";

interface Page {
  title: string;
  load: () => Promise<{ default: ComponentType }>;
}

const PAGES: [RegExp, Page][] = [
  [/^\/$/, { title: "Search", load: () => import("./search/page") }],
  [/^\/file\//, { title: "File", load: () => import("./search/file") }],
  [/^\/review$/, { title: "Review", load: () => import("./review/page") }],
  [/^\/notes(\/|$)/, { title: "Notes", load: () => import("./note/page") }],
  [/^\/status$/, { title: "Status", load: () => import("./status/page") }],
];

const loaded = signal(new Map<Page, ComponentType>());
const failure = signal("");

function Current() {
  const path = place.value.path;
  const page = PAGES.find(([pattern]) => pattern.test(path))?.[1];
  // Before the effects of the page itself, which may know a better title: that of a file, or what is searched.
  useLayoutEffect(() => {
    document.title = page ? `${page.title} · flashgrep` : "flashgrep";
  }, [page, path]);
  if (!page) return <p class="empty">There is no page here. The address may have a typing error.</p>;
  const Shown = loaded.value.get(page);
  if (Shown) return <Shown />;
  page.load().then(
    (module) => {
      loaded.value = new Map(loaded.value).set(page, module.default);
    },
    (error: unknown) => {
      failure.value = told(error);
    },
  );
  return failure.value ? (
    <p class="empty" role="alert">
      {failure.value} Reload the page to try again.
    </p>
  ) : (
    <p class="empty muted">Loading…</p>
  );
}

function App() {
  return (
    <Frame>
      <Current />
    </Frame>
  );
}

const root = document.getElementById("app");
if (root) {
  loadSession()
    .catch((error: unknown) => {
      failure.value = told(error);
    })
    .finally(() => {
      if (session.value?.notes) followNotes();
      render(<App />, root);
    });
}
