// What the person may do with a note, and why not.

import type { Role } from "../shell/session";
import { may, session } from "../shell/session";

function isCovered(path: string): boolean {
  const folders = session.value?.folders ?? [""];
  return folders.some((folder) => !folder || path === folder || path.startsWith(`${folder}/`));
}

/** Whether the person has a role on a note or folder. */
export function mayOn(role: Role, path: string): boolean {
  if (role !== "read" && session.value?.read_only) return false;
  return may(role) && isCovered(path);
}

/** Why a person without a role on a note cannot do something; `what` follows "to". */
export function whyNot(role: Role, path: string, what: string): string {
  const who = session.value;
  if (who?.read_only) return `The server runs with --read-only: nobody can ${what} here.`;
  if (may(role) && !isCovered(path)) return `Your role ${who?.role} is for ${folders()}, and this is elsewhere.`;
  return `Your role is ${who?.role ?? "none"}; to ${what} takes the role ${role}. An admin can give you one.`;
}

function folders(): string {
  return (session.value?.folders ?? []).map((folder) => `${folder}/`).join(", ");
}
