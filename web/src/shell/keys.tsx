// Keyboard shortcuts: each page names its own, `?` lists those of the page that is shown.

import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { Dialog } from "./dialog";

export interface Shortcut {
  /** As shown and compared: "j", "Shift+A", "Ctrl+K". Several are alternatives. */
  keys: string[];
  does: string;
  run: () => void;
  /** Also while a text field has the focus. */
  inFields?: boolean;
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
  const key = event.key.length === 1 ? event.key : event.key;
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

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  const name = pressed(event);
  const inField = isField(event.target);
  if (name === "?" && !inField) {
    event.preventDefault();
    isHelpOpen.value = true;
    return;
  }
  const isModal = document.querySelector("dialog[open]") !== null;
  for (const group of [...groups].reverse()) {
    for (const one of group.shortcuts) {
      if (!one.keys.includes(name) || ((inField || isModal) && !one.inFields)) continue;
      event.preventDefault();
      one.run();
      return;
    }
  }
});

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
                  {one.keys.map((key) => (
                    <kbd key={key}>{key}</kbd>
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
