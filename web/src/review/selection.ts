// Which suggestions are selected.

import { signal } from "@preact/signals";

/**
 * Suggestions by id, each with the digest of what the person saw of it: of one that says something
 * else by the time that it is decided, the server decides nothing.
 */
export type Shown = ReadonlyMap<string, string>;

/** As they were when they were selected: a card may change out of sight since. */
export const selected = signal<Shown>(new Map());

export function unselect(ids: Iterable<string>): void {
  const rest = new Map(selected.value);
  for (const id of ids) rest.delete(id);
  if (rest.size !== selected.value.size) selected.value = rest;
}
