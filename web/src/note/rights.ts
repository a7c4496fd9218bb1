// Why a person may not do something with a note.

import type { Role } from "../shell/session";
import { may, mayOn, roleOn, session } from "../shell/session";

export { mayOn };

/** Why a person without a role on a note cannot do something; `what` follows "to". */
export function whyNot(role: Role, path: string, what: string): string {
  const who = session.value;
  if (who?.read_only) return `The server runs with --read-only: nobody can ${what} here.`;
  const own = roleOn(path);
  if (may(role)) {
    const here = own === null ? "and this is elsewhere" : `and here it is ${own}`;
    return `Your role ${who?.role} is for ${foldersOf(role)}, ${here}.`;
  }
  return `Your role is ${own ?? who?.role ?? "none"}; to ${what} you need the role ${role}. An admin can give you one.`;
}

/** What somebody who may not change a note can do with it. */
export function mayDo(path: string): string {
  if (mayOn("suggest", path)) return "You can read this note and comment: select a passage, then press Comment.";
  return "You can read this note.";
}

function foldersOf(role: Role): string {
  const grants = (session.value?.grants ?? []).filter((one) => may(role, one.role));
  return grants.map((one) => `${one.folder}/`).join(", ");
}
