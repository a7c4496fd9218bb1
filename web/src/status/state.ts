// What the server says of itself, asked again and again while somebody looks.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get, isAbort, Refused, told } from "../shell/api";
import type { IndexState } from "../search/index_state";

export interface Client {
  transport: string;
  name: string | null;
  client: string | null;
  since: number;
  calls: number;
}

export interface RecentCall {
  tool: string;
  client: string | null;
  milliseconds: number;
  ok: boolean;
  time: number;
}

export interface NotesState {
  path: string;
  notes: number;
  pending: number;
  quarantined: [string, string][];
  size_bytes: number;
  trash: number;
}

export interface Status {
  index: IndexState | null;
  memory?: { private_bytes: number | null; resident_bytes: number | null };
  uptime_seconds?: number;
  clients?: Client[];
  calls?: RecentCall[];
  notes?: NotesState | null;
  workspace?: { path: string } | null;
}

export interface Token {
  name: string;
  role: string;
  folders: string[];
  made: number | null;
  expires: number | null;
  last_used: number | null;
  /** Made by a server for the agents it prints it to. */
  is_agents: boolean;
}

export const status = signal<Status | null>(null);
export const tokens = signal<Token[] | null>(null);
/** Why the newest state is not known; what is shown is older. */
export const problem = signal("");
/** Why there are no tokens to show. */
export const tokensProblem = signal("");

const AGAIN_MILLISECONDS = 2000;

export function useStatus(): void {
  useEffect(() => {
    const ending = new AbortController();
    let timer = 0;
    const look = async () => {
      clearTimeout(timer);
      if (document.visibilityState !== "visible") return;
      try {
        status.value = await get<Status>("/api/status", { signal: ending.signal });
        problem.value = "";
        if (status.value.notes) await loadTokens(ending.signal);
      } catch (error) {
        if (isAbort(error)) return;
        problem.value = told(error);
      }
      if (!ending.signal.aborted) timer = window.setTimeout(() => void look(), AGAIN_MILLISECONDS);
    };
    const onVisible = () => void look();
    document.addEventListener("visibilitychange", onVisible);
    void look();
    return () => {
      ending.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, []);
}

export async function loadTokens(signal?: AbortSignal): Promise<void> {
  try {
    tokens.value = (await get<{ tokens: Token[] }>("/api/tokens", { signal })).tokens;
    tokensProblem.value = "";
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    tokensProblem.value = told(error);
  }
}
