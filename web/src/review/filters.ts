// Which suggestions are shown: kept in the address, applied by the server. `unseen` is this browser's alone.

import { computed } from "@preact/signals";
import { place, setQuery } from "../shell/router";

export interface Filters {
  note: string;
  author: string;
  folder: string;
  age: string;
  text: string;
  unseen: string;
}

export const NO_FILTERS: Filters = { note: "", author: "", folder: "", age: "", text: "", unseen: "" };
const NAMES = Object.keys(NO_FILTERS) as (keyof Filters)[];

/** What `age` may be: as the address, the server and people have it. */
export const AGES = [
  { value: "newer-1h", name: "Last hour" },
  { value: "newer-1d", name: "Last day" },
  { value: "newer-7d", name: "Last week" },
  { value: "older-1d", name: "Older than a day" },
  { value: "older-7d", name: "Older than a week" },
  { value: "older-30d", name: "Older than a month" },
];

export const filters = computed((): Filters => {
  const query = place.value.query;
  return Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? ""])) as unknown as Filters;
});

/** What the server is asked; changes only when it is asked for something else. */
export const asked = computed((): string => {
  const { note, author, folder, age, text } = filters.value;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ note, author, folder, text })) if (value) query.set(name, value);
  const [side, span] = age.split("-");
  if (span && (side === "newer" || side === "older")) query.set(`${side}_than`, span);
  return query.toString();
});

export const isFiltered = computed(() => NAMES.some((name) => filters.value[name] !== ""));

export function setFilter(name: keyof Filters, value: string): void {
  setQuery({ [name]: value });
}

export function clearFilters(): void {
  setQuery({ ...NO_FILTERS });
}
