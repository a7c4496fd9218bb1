// A button with a small menu, worked by arrow keys as menus are.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

export interface MenuItem {
  name: string;
  run: () => void;
  class?: string;
}

interface Properties {
  /** What the button says to a screen reader, where its content is only a sign. */
  label?: string;
  items: readonly MenuItem[];
  children: ComponentChildren;
  class?: string;
  disabled?: boolean;
}

export function Menu({ label, items, children, class: extra, disabled }: Properties) {
  const [isOpen, setOpen] = useState(false);
  const outer = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();

  useEffect(() => {
    if (!isOpen) return undefined;
    outer.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const elsewhere = (event: Event) => {
      if (!outer.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", elsewhere);
    document.addEventListener("focusin", elsewhere);
    return () => {
      document.removeEventListener("pointerdown", elsewhere);
      document.removeEventListener("focusin", elsewhere);
    };
  }, [isOpen]);

  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const move = (event: KeyboardEvent) => {
    const all = [...(outer.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const aims: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 };
    const aim = aims[event.key];
    if (aim !== undefined) all[(aim + all.length) % all.length]?.focus();
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu" ref={outer}>
      <button
        ref={button}
        type="button"
        class={extra}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        disabled={disabled}
        onClick={() => setOpen(!isOpen)}
      >
        {children}
      </button>
      {isOpen && (
        <div role="menu" id={id} class="menu-list" onKeyDown={move}>
          {items.map((item) => (
            <button
              key={item.name}
              type="button"
              role="menuitem"
              tabIndex={-1}
              class={item.class}
              onClick={() => {
                close();
                item.run();
              }}
            >
              {item.name}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
