// Fuzzy matching of paths: all letters in their order; better where they begin words or the name.

export interface Found {
  text: string;
  score: number;
  /** Indices of the letters that matched. */
  at: number[];
}

export function fuzzy(wanted: string, text: string): Found | null {
  const letters = wanted.toLowerCase().replace(/\s+/g, "");
  const lower = text.toLowerCase();
  const name = text.lastIndexOf("/") + 1;
  const inName = matched(letters, lower, name, text);
  return inName ?? matched(letters, lower, 0, text);
}

function matched(letters: string, lower: string, from: number, text: string): Found | null {
  const at: number[] = [];
  let score = from > 0 ? 10 : 0;
  let place = from;
  for (const letter of letters) {
    const found = lower.indexOf(letter, place);
    if (found < 0) return null;
    if (found === place && at.length) score += 6;
    if (found === 0 || /[/ _.-]/.test(lower[found - 1]!)) score += 8;
    at.push(found);
    place = found + 1;
  }
  return { text, score: score - text.length * 0.05, at };
}

export function ranked(wanted: string, texts: readonly string[], most: number): Found[] {
  const found: Found[] = [];
  for (const text of texts) {
    const one = fuzzy(wanted, text);
    if (one) found.push(one);
  }
  found.sort((one, other) => other.score - one.score || (one.text < other.text ? -1 : 1));
  return found.slice(0, most);
}
