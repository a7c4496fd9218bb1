// How far the index is: asked when the search page opens, and again while it is built.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get } from "../shell/api";
import { session } from "../shell/session";

export interface IndexState {
  state: "building" | "ready" | "off";
  progress: number;
  freshness: string | null;
  total_files: number;
  total_chunks: number;
  index_size_bytes: number;
  last_update: string | null;
  grep_ready: boolean;
  query_ready: boolean;
  reason?: string;
}

export const index = signal<IndexState | null>(null);

const AGAIN_MILLISECONDS = 2000;

/** Keep `index` up while a page shows it. */
export function useIndexState(): void {
  useEffect(() => {
    if (!session.value?.workspace) return undefined;
    const ending = new AbortController();
    let timer = 0;
    const look = async () => {
      try {
        index.value = (await get<{ index: IndexState }>("/api/status", { signal: ending.signal })).index;
      } catch {
        return; // searching says what is wrong
      }
      if (!ending.signal.aborted && index.value?.state === "building") timer = window.setTimeout(() => void look(), AGAIN_MILLISECONDS);
    };
    void look();
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, []);
}

/** As words: "index building, 42 %", "index ready, watching for changes". */
export function indexWords(state: string, freshness: string | null, progress?: number): string {
  if (state === "building") return `index building${progress === undefined ? "" : `, ${Math.floor(progress * 100)} %`}`;
  if (state === "off") return "no index: every file is read";
  const fresh = freshness === "watching" ? ", watching for changes" : freshness === "sweeping" ? ", looking for changes now and then" : "";
  return `index ready${fresh}`;
}
