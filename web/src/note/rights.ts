// Why a person may not do something with a note.

import type { Role } from "../shell/session";
import { may, roleOn, session } from "../shell/session";

export { mayOn } from "../shell/session";

/** Why a person without a role on a note cannot do something; `what` follows "to". */
export function whyNot(role: Role, path: string, what: string): string {
  const who = session.value;
  if (who?.read_only) return `The server runs with --read-only: nobody can ${what} here.`;
  const own = roleOn(path);
  if (may(role)) {
    const here = own === null ? "and this is elsewhere" : `and here it is ${own}`;
    return `Your role ${who?.role} is for ${foldersOf(role)}, ${here}.`;
  }
  return `Your role is ${own ?? who?.role ?? "none"}; to ${what} takes the role ${role}. An admin can give you one.`;
}

function foldersOf(role: Role): string {
  const grants = (session.value?.grants ?? []).filter((one) => may(role, one.role));
  return grants.map((one) => `${one.folder}/`).join(", ");
}
