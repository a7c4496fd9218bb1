// Which page is shown: the address is the state. Pages keep what can be shared in the query.

import { signal } from "@preact/signals";

export interface Place {
  path: string;
  query: URLSearchParams;
  hash: string;
}

function current(): Place {
  return {
    path: decodedPath(location.pathname),
    query: new URLSearchParams(location.search),
    hash: location.hash.slice(1),
  };
}

function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

export const place = signal<Place>(current());

/** Asked before the page is left; gives a question for the person, or nothing. */
export const leaving = new Set<() => string | null>();

export function navigate(address: string, options: { replace?: boolean } = {}): void {
  for (const ask of leaving) {
    const question = ask();
    if (question && !confirm(question)) return;
  }
  if (options.replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  const before = place.value.path;
  place.value = current();
  if (!options.replace && place.value.path !== before) scrollTo({ top: 0 }); // a page begins at its top
}

/** Change the query of this page without a new step in the history. */
export function setQuery(entries: Record<string, string | null>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(entries)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  history.replaceState(null, "", location.pathname + (text ? `?${text}` : "") + location.hash);
  place.value = current();
}

addEventListener("popstate", () => {
  place.value = current();
});

/** Links inside the pages do not load them anew. */
document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest?.("a[href]");
  if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute("download")) return;
  if (link.origin !== location.origin) return;
  event.preventDefault();
  navigate(link.pathname + link.search + link.hash);
});
