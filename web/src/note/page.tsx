// /notes: the list of notes; /notes/PATH: one note. The editor is loaded with the first note.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { told } from "../shell/api";
import { NotesMissing } from "../shell/missing";
import { place } from "../shell/router";
import { session } from "../shell/session";
import { NoteList } from "./list";

type NotePage = ComponentType<{ path: string }>;
let loaded: NotePage | null = null;

export default function Page() {
  const path = place.value.path.replace(/^\/notes\/?/, "");
  if (session.value && !session.value.notes) {
    return (
      <p class="empty">
        This server has no notes. <NotesMissing />
      </p>
    );
  }
  if (!path) return <NoteList />;
  // A note is named with its ending; people leave it out.
  return <Editing path={/\.md$/i.test(path) ? path : `${path.replace(/\/+$/, "")}.md`} />;
}

function Editing({ path }: { path: string }) {
  const [Shown, setShown] = useState<NotePage | null>(() => loaded);
  const [failure, setFailure] = useState("");
  useEffect(() => {
    if (Shown) return;
    import("./note").then(
      (module) => {
        loaded = module.default;
        setShown(() => module.default);
      },
      (error: unknown) => setFailure(told(error)),
    );
  }, []);
  if (failure) {
    return (
      <p class="empty" role="alert">
        {failure} Reload the page to try again.
      </p>
    );
  }
  return Shown ? <Shown path={path} /> : <p class="empty muted">Loading…</p>;
}
