// Who is signed in, and what they may do.

import { signal } from "@preact/signals";
import { get, isSignedOut, person, post } from "./api";

export type Role = "read" | "suggest" | "write" | "admin";

export interface Session {
  name: string;
  role: Role | null;
  folders: string[];
  grants: { role: Role; folder: string }[];
  /** Whether the server has files, and the person may see them. */
  workspace: boolean;
  /** Whether the server has files at all. */
  serves_files: boolean;
  notes: boolean;
  read_only: boolean;
  version: string;
  expires: number | null;
}

export const session = signal<Session | null>(null);

const RANK: Record<Role, number> = { read: 1, suggest: 2, write: 3, admin: 4 };

/** Whether a role, or else the person's highest anywhere, includes another. */
export function may(role: Role, own = session.value?.role): boolean {
  return own != null && RANK[own] >= RANK[role];
}

/** The person's role on a note or folder; null where they may not even see it. */
export function roleOn(path: string): Role | null {
  const own = path.normalize("NFC");
  const roles = (session.value?.grants ?? []).flatMap(({ role, folder }) => {
    const wide = folder.normalize("NFC");
    return !wide || own === wide || own.startsWith(`${wide}/`) ? role : [];
  });
  return roles.sort((one, other) => RANK[other] - RANK[one])[0] ?? null;
}

/** Whether the person has at least this role on a note or folder, and the server lets it be used. */
export function mayOn(role: Role, path: string): boolean {
  if (role !== "read" && session.value?.read_only) return false;
  return may(role, roleOn(path));
}

/** Why there are no files for this person, as part of a sentence. */
export function noFiles(): string {
  return session.value?.serves_files ? "your link opens the notes only" : "this server has no workspace";
}

/** Who has signed in in this browser instead of the one this page was loaded for. */
export const other = signal<string | null>(null);

export async function loadSession(): Promise<void> {
  try {
    const found = await get<Session>("/api/session", { forAnyone: true });
    if (session.value && found.name !== session.value.name) {
      other.value = found.name;
      isSignedOut.value = true;
      return;
    }
    other.value = null;
    session.value = found;
    person.value = found.name;
    isSignedOut.value = false;
  } catch (error) {
    if (!isSignedOut.value) throw error;
  }
}

export async function signOut(): Promise<void> {
  await post("/api/session/end", {});
  location.assign("/");
}
