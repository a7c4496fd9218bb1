// The bar at the foot of the page: what is selected, and how far a large decision has come.

import { counted } from "../shell/age";
import { told } from "../shell/api";
import { resultText } from "./decisions";
import type { Job } from "./jobs";
import { canUndo, job, undoJob } from "./jobs";
import { selected } from "./selection";
import { chosen, decideAll, open, select, shownCards } from "./work";

export function BulkBar() {
  const running = job.value;
  if (running) return <Progress running={running} />;
  const ones = chosen.value;
  if (!ones.size) return null;
  const count = ones.size.toLocaleString("en");
  const all = open(shownCards.value);
  return (
    <div class="bulk" role="region" aria-label="Selected suggestions">
      <span class="bulk-count bulk-selected">{count} selected</span>
      <button type="button" class="accept" onClick={() => decideAll(ones, "accept")}>
        Accept {count} selected
      </button>
      <button type="button" class="reject" onClick={() => decideAll(ones, "reject")}>
        Reject {count} selected
      </button>
      {all.size > ones.size && (
        <button type="button" class="quiet" onClick={() => select(all, true)}>
          Select all {all.size.toLocaleString("en")} shown
        </button>
      )}
      <button type="button" class="quiet" onClick={() => (selected.value = new Map())}>
        Clear selection
      </button>
    </div>
  );
}

const DOING = { accept: "Accepting", reject: "Rejecting", undo: "Undoing" };

function Progress({ running }: { running: Job }) {
  const { state, done, total, action, counts, message } = running;
  const doing = DOING[action];
  const things = counted(total, action === "undo" ? "decision" : "suggestion");
  const isKnown = Object.keys(counts).length > 0;
  return (
    <div class="bulk" role="region" aria-label="Decision in progress">
      {state === "running" ? (
        <>
          <span>
            {doing} {things}: {done.toLocaleString("en")} done
          </span>
          <progress max={total} value={done} aria-label={`${doing} ${things}`} />
        </>
      ) : (
        <>
          <span class="bulk-count" role="status">
            {(isKnown || state === "done") && resultText(action, counts)}
            {state !== "done" && `${isKnown ? ". " : ""}${message ? told(message) : "It stopped before the end."}`}
          </span>
          {canUndo(running) && (
            <button type="button" onClick={() => void undoJob(running)}>
              Undo all {counts.done!.toLocaleString("en")}
            </button>
          )}
          <button type="button" onClick={() => (job.value = null)}>
            Close
          </button>
        </>
      )}
    </div>
  );
}
