// Who is signed in, and what they may do.

import { signal } from "@preact/signals";
import { get, isSignedOut, post } from "./api";

export type Role = "read" | "suggest" | "write" | "admin";

export interface Session {
  name: string;
  role: Role | null;
  folders: string[];
  workspace: boolean;
  notes: boolean;
  read_only: boolean;
  version: string;
  expires: number | null;
}

export const session = signal<Session | null>(null);

const RANK: Record<Role, number> = { read: 1, suggest: 2, write: 3, admin: 4 };

/** Whether the person has at least this role on notes, somewhere. */
export function may(role: Role): boolean {
  const own = session.value?.role;
  return own != null && RANK[own] >= RANK[role];
}

export async function loadSession(): Promise<void> {
  try {
    session.value = await get<Session>("/api/session");
    isSignedOut.value = false;
  } catch (error) {
    if (!isSignedOut.value) throw error;
  }
}

export async function signOut(): Promise<void> {
  await post("/api/session/end", {});
  location.assign("/");
}
