// Short messages at the bottom of the page, read out by screen readers.

import { signal } from "@preact/signals";

export interface Message {
  id: number;
  text: string;
  kind: "info" | "error";
  action?: { name: string; run: () => void };
}

const messages = signal<Message[]>([]);
let count = 0;

const INFO_MILLISECONDS = 6000;
const ERROR_MILLISECONDS = 12000;

export function say(text: string, action?: Message["action"]): void {
  show({ id: ++count, text, kind: "info", ...(action ? { action } : {}) }, INFO_MILLISECONDS);
}

export function complain(text: string): void {
  show({ id: ++count, text, kind: "error" }, ERROR_MILLISECONDS);
}

function show(message: Message, milliseconds: number): void {
  messages.value = [...messages.value.slice(-3), message];
  setTimeout(() => dismiss(message.id), milliseconds);
}

function dismiss(id: number): void {
  messages.value = messages.value.filter((one) => one.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {messages.value.map((one) => (
        <div key={one.id} class={`toast ${one.kind}`}>
          <span>{one.text}</span>
          {one.action && (
            <button
              type="button"
              onClick={() => {
                dismiss(one.id);
                one.action?.run();
              }}
            >
              {one.action.name}
            </button>
          )}
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(one.id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}
