// What a person typed and the server does not have yet, kept in this browser so that a reload or a
// crash of the tab does not lose it.
//
//     flashgrep.unsaved/NAME/CLIENT/PATH → {"epoch", "update", "text"}
//
// `update` is a Yjs update in base64: applied to the same document again it does no harm, however
// often. `text` is the whole text, or what was typed into a long one, for a note that has begun anew meanwhile.

const PREFIX = "flashgrep.unsaved/";
const MOST_CHARACTERS = 2_000_000; // a browser keeps about five million for a site

export interface Kept {
  key: string;
  epoch: string;
  update: Uint8Array;
  text: string;
}

export function keyOf(name: string, client: number, path: string): string {
  return `${PREFIX}${encodeURIComponent(name)}/${client}/${path}`;
}

/** Keep an update; false where the browser has no room for it. */
export function keep(key: string, epoch: string, update: Uint8Array, text: string): boolean {
  const written = JSON.stringify({ epoch, update: encoded(update), text });
  if (written.length > MOST_CHARACTERS) return false;
  try {
    localStorage.setItem(key, written);
    return true;
  } catch {
    return false;
  }
}

export function forget(key: string): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // Storage is switched off: then nothing was kept either.
  }
}

/** What is kept of a note for a person, by whichever tab: by its epoch, for it may have moved, or its path. */
export function allKept(name: string, path: string, epoch: string | null = null): Kept[] {
  const found: Kept[] = [];
  const own = `${PREFIX}${encodeURIComponent(name)}/`;
  try {
    for (const key of Object.keys(localStorage)) {
      if (!key.startsWith(own)) continue;
      const isHere = key.slice(own.length).replace(/^\d+\//, "") === path;
      const one = isHere || epoch !== null ? parsed(key, localStorage.getItem(key) ?? "") : null;
      if (one && (isHere || one.epoch === epoch)) found.push(one);
      else if (isHere) localStorage.removeItem(key);
    }
  } catch {
    return [];
  }
  return found;
}

function parsed(key: string, written: string): Kept | null {
  try {
    const value = JSON.parse(written) as { epoch: unknown; update: unknown; text: unknown };
    if (typeof value.epoch !== "string" || typeof value.update !== "string" || typeof value.text !== "string") return null;
    return { key, epoch: value.epoch, update: decoded(value.update), text: value.text };
  } catch {
    return null;
  }
}

function encoded(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

function decoded(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
