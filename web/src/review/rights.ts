// Who may decide, and why somebody may not.

import type { Role } from "../shell/session";
import { may, session } from "../shell/session";

function covers(path: string): boolean {
  const folders = session.value?.folders ?? [""];
  return folders.some((folder) => !folder || path === folder || path.startsWith(`${folder.replace(/\/$/, "")}/`));
}

export function mayOn(role: Role, note: string): boolean {
  return may(role) && covers(note) && !session.value?.read_only;
}

/** Why nothing can be decided here at all; empty where it can. */
export function whyNoDecisions(): string {
  const who = session.value;
  if (who?.read_only) return "This server runs with --read-only: nothing can be decided here.";
  if (!may("write")) return `Deciding needs the role write; you have ${who?.role ?? "none"}.`;
  return "";
}
