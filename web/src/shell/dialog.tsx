// A modal dialog: the browser's own, so that focus, Escape and screen readers work.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

interface Properties {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  class?: string;
}

export function Dialog({ title, onClose, children, class: extra }: Properties) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  // At once: what is typed next must not reach the page below.
  useLayoutEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    const own = element.current;
    return () => {
      // Not yet: until the dialog has left the page, nothing outside can have the focus.
      queueMicrotask(() => {
        // Unless what was chosen in the dialog has moved the focus already.
        const now = document.activeElement;
        const isFree = !now || now === document.body || own?.contains(now);
        if (isFree && before instanceof HTMLElement) before.focus();
      });
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog ${extra ?? ""}`}
      aria-labelledby={id}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === element.current) element.current?.close();
      }}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          <button type="button" class="icon-button" aria-label="Close" onClick={() => element.current?.close()}>
            ✕
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

/** Close the dialog around an element at once: until then nothing outside can have the focus. */
export function closeAround(element: Element): void {
  element.closest("dialog")?.close();
}

interface Confirmation {
  title: string;
  text: string;
  action: string;
  danger?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

export function Confirm({ title, text, action, danger, onConfirm, onClose }: Confirmation) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{text}</p>
      <footer class="dialog-foot">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          class={danger ? "danger" : "primary"}
          autofocus
          onClick={(event) => {
            closeAround(event.currentTarget);
            onClose();
            onConfirm();
          }}
        >
          {action}
        </button>
      </footer>
    </Dialog>
  );
}
