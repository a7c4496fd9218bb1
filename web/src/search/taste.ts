// How a person likes files to be shown, kept in this browser.

const PREFIX = "flashgrep.file.";

export function remembered(name: string, otherwise: string): string {
  try {
    return localStorage.getItem(PREFIX + name) ?? otherwise;
  } catch {
    return otherwise; // storage is switched off
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // The choice holds until the page is left.
  }
}
