// Which suggestions are selected.

import { signal } from "@preact/signals";

export const selected = signal<ReadonlySet<string>>(new Set());

export function unselect(ids: Iterable<string>): void {
  const rest = new Set(selected.value);
  for (const id of ids) rest.delete(id);
  if (rest.size !== selected.value.size) selected.value = rest;
}
