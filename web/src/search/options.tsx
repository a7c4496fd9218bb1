// What to search, and how: all of it is in the address.

import { useRef } from "preact/hooks";
import { session } from "../shell/session";
import { visible } from "../shell/visible";
import type { Where } from "./question";
import { ask, MOST_CONTEXT, question } from "./question";
import { TYPES } from "./types";

/** `onChosen` when one was chosen with a mouse: whoever uses the keyboard stays where they are. */
export function Options({ onChosen }: { onChosen: () => void }) {
  const asked = question.value;
  const has = session.value;
  const isByMouse = useRef(false);
  return (
    <div
      class="search-options"
      role="group"
      aria-label="Options"
      onPointerDown={(event) => (isByMouse.current = event.pointerType === "mouse")}
      onKeyDown={() => (isByMouse.current = false)}
      onChange={(event) => {
        const isChoice = event.target instanceof HTMLSelectElement || (event.target as HTMLInputElement).type === "checkbox";
        if (isChoice && isByMouse.current) onChosen();
      }}
    >
      {has?.workspace && has.notes && (
        <label class="option">
          <span>In</span>
          <select value={asked.where} onChange={(event) => ask({ where: event.currentTarget.value as Where, path: "" })}>
            <option value="workspace">workspace</option>
            <option value="notes">notes</option>
          </select>
        </label>
      )}
      <label class="check" title="Alt+C">
        <input type="checkbox" checked={!asked.ignoreCase} onChange={(event) => ask({ ignoreCase: !event.currentTarget.checked })} />
        Match case
      </label>
      <label class="check" title="Alt+M">
        <input type="checkbox" checked={asked.multiline} onChange={(event) => ask({ multiline: event.currentTarget.checked })} />
        Multiline
      </label>
      <label class="option">
        <span>Context</span>
        <select value={asked.context} onChange={(event) => ask({ context: Number(event.currentTarget.value) })}>
          {Array.from({ length: MOST_CONTEXT + 1 }, (_, lines) => (
            <option key={lines} value={lines}>
              {lines === 0 ? "none" : lines === 1 ? "1 line" : `${lines} lines`}
            </option>
          ))}
        </select>
      </label>
      <label class="option grows">
        <span>{asked.where === "notes" ? "Notes" : "Files"}</span>
        <input
          type="text"
          value={asked.glob}
          placeholder={asked.where === "notes" ? "Plans/**, *2026*" : "*.py, src/**"}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          onInput={(event) => ask({ glob: event.currentTarget.value })}
        />
      </label>
      {asked.where === "workspace" && (
        <label class="option">
          <span>Type</span>
          <input
            type="text"
            class="option-type"
            list="search-types"
            value={asked.type}
            placeholder="any"
            spellcheck={false}
            autocomplete="off"
            autocapitalize="off"
            onInput={(event) => ask({ type: event.currentTarget.value })}
          />
          <datalist id="search-types">
            {TYPES.map((type) => (
              <option key={type} value={type} />
            ))}
          </datalist>
        </label>
      )}
      {asked.path && (
        <span class="chip">
          <span>
            in <bdi>{visible(asked.path)}</bdi>
          </span>
          <button type="button" class="icon-button" aria-label="Search everywhere again" onClick={() => ask({ path: "" })}>
            ✕
          </button>
        </span>
      )}
    </div>
  );
}
