// What a search found in the file that is shown: the server's own places, so that both pages agree.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { isAbort, post } from "../shell/api";
import type { FoundFile, FoundLine } from "./answer";
import type { Span } from "./drawn";

export interface FileMatches {
  lines: number[];
  spans: Map<number, readonly Span[]>;
  /** Matches in lines that are too long to be shown whole. */
  cut: Map<number, FoundLine>;
  isWhole: boolean;
}

const NONE: FileMatches = { lines: [], spans: new Map(), cut: new Map(), isWhole: true };
const MOST = 1000;

export const matches = signal<FileMatches>(NONE);

export function useMatches(path: string, pattern: string, ignoreCase: boolean, multiline: boolean): void {
  useEffect(() => {
    matches.value = NONE;
    if (!pattern) return undefined;
    const ending = new AbortController();
    const asked = { pattern, path, where: "workspace", case_insensitive: ignoreCase, multiline, limit: MOST };
    post<{ files: FoundFile[]; next_offset: number | null }>("/api/search", asked, { signal: ending.signal })
      .then((answer) => {
        const found = answer.files.flatMap((file) => file.lines).filter((line) => line.match);
        matches.value = {
          lines: found.map((line) => line.line),
          spans: new Map(found.filter((line) => line.column === undefined).map((line) => [line.line, line.spans])),
          cut: new Map(found.filter((line) => line.column !== undefined).map((line) => [line.line, line])),
          isWhole: answer.next_offset === null,
        };
      })
      .catch((error: unknown) => {
        if (!isAbort(error)) matches.value = NONE; // the file is shown all the same
      });
    return () => ending.abort();
  }, [path, pattern, ignoreCase, multiline]);
}
