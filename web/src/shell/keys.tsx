// Keyboard shortcuts: each page names its own, `?` lists those of the page that is shown.

import { signal } from "@preact/signals";
import { Fragment } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { Dialog } from "./dialog";

export interface Shortcut {
  /** As compared: "j", "Shift+A", "Ctrl+K", "g r" (one after the other). Several are alternatives. */
  keys: string[];
  does: string;
  run: () => void;
  /** Also while a text field has the focus. */
  inFields?: boolean;
  /** Goes to another page: not while a search box holds something, which whoever types may mean to go on with. */
  leaves?: boolean;
}

interface Group {
  title: string;
  shortcuts: Shortcut[];
}

const groups = new Set<Group>();
const isHelpOpen = signal(false);

/** Have shortcuts while a component is shown. */
export function useShortcuts(title: string, shortcuts: Shortcut[]): void {
  // Before the page is painted: a key that is pressed as soon as it is seen must count.
  useLayoutEffect(() => {
    const group = { title, shortcuts };
    groups.add(group);
    return () => {
      groups.delete(group);
    };
  });
}

function pressed(event: KeyboardEvent): string {
  const parts = [];
  if (event.ctrlKey || event.metaKey) parts.push("Ctrl");
  if (event.altKey) parts.push("Alt");
  const { key } = event;
  const isLetter = /^[a-z]$/i.test(key);
  if (event.shiftKey && (isLetter || key.length > 1)) parts.push("Shift");
  parts.push(isLetter && parts.length ? key.toUpperCase() : isLetter ? key.toLowerCase() : key);
  return parts.join("+");
}

/** Whether letters that are typed here are text. */
export function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement && /^(checkbox|radio|button|range)$/.test(target.type)) return false;
  return target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName);
}

const SOON_MILLISECONDS = 1500; // in which the second of two keys follows the first
let before = { name: "", time: 0 };

function isSearching(): boolean {
  return Boolean(document.querySelector<HTMLInputElement>('[role="searchbox"]')?.value);
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || /^(Shift|Control|Alt|Meta)$/.test(event.key)) return;
  const name = pressed(event);
  const both = event.timeStamp - before.time < SOON_MILLISECONDS ? `${before.name} ${name}` : "";
  const inField = isField(event.target);
  before = { name: inField ? "" : name, time: event.timeStamp };
  if (name === "?" && !inField) {
    event.preventDefault();
    isHelpOpen.value = true;
    return;
  }
  const isModal = document.querySelector("dialog[open]") !== null;
  const all = [...groups].reverse().flatMap((group) => group.shortcuts);
  for (const keys of [both, name]) {
    for (const one of all) {
      if (!keys || !one.keys.includes(keys) || ((inField || isModal) && !one.inFields)) continue;
      if (one.leaves && isSearching()) continue;
      event.preventDefault();
      before.name = "";
      one.run();
      return;
    }
  }
});

const SIGNS: Record<string, string> = { ArrowDown: "↓", ArrowUp: "↑", Escape: "Esc" };

/** A key as it is written on keyboards: "Alt+ArrowDown" is Alt ↓. */
function Key({ keys }: { keys: string }) {
  const parts = keys.split(/[+ ]/).map((part) => SIGNS[part] ?? part);
  return (
    <span class="keys">
      {parts.map((part, at) => (
        <kbd key={at}>{part}</kbd>
      ))}
    </span>
  );
}

export function ShortcutHelp() {
  if (!isHelpOpen.value) return null;
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => (isHelpOpen.value = false)}>
      {[...groups].map((group) => (
        <section key={group.title} class="shortcut-group">
          <h3>{group.title}</h3>
          <dl class="shortcuts">
            {group.shortcuts.map((one) => (
              <div key={one.does}>
                <dt>
                  {one.keys.map((keys, at) => (
                    <Fragment key={keys}>
                      {at > 0 && <span class="muted">or</span>}
                      <Key keys={keys} />
                    </Fragment>
                  ))}
                </dt>
                <dd>{one.does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}

export function openHelp(): void {
  isHelpOpen.value = true;
}
