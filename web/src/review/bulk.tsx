// The bar at the foot of the page: what is selected, and how far a large decision has come.

import { counted } from "../shell/age";
import type { Job } from "./decisions";
import { job, resultText, selected } from "./decisions";
import { chosen, decideAll, open, select, shownCards } from "./work";

export function BulkBar() {
  const running = job.value;
  if (running) return <Progress running={running} />;
  const ids = chosen.value;
  if (!ids.length) return null;
  const count = ids.length.toLocaleString("en");
  const all = open(shownCards.value);
  return (
    <div class="bulk" role="region" aria-label="Selected suggestions">
      <span class="bulk-count bulk-selected">{count} selected</span>
      <button type="button" class="accept" onClick={() => decideAll(ids, "accept")}>
        Accept {count} selected
      </button>
      <button type="button" class="reject" onClick={() => decideAll(ids, "reject")}>
        Reject {count} selected
      </button>
      {all.length > ids.length && (
        <button type="button" class="quiet" onClick={() => select(all, true)}>
          Select all {all.length.toLocaleString("en")} shown
        </button>
      )}
      <button type="button" class="quiet" onClick={() => (selected.value = new Set())}>
        Clear selection
      </button>
    </div>
  );
}

function Progress({ running }: { running: Job }) {
  const { state, done, total, action, counts, message } = running;
  const doing = action === "accept" ? "Accepting" : "Rejecting";
  return (
    <div class="bulk" role="region" aria-label="Decision in progress">
      {state === "running" ? (
        <>
          <span>
            {doing} {counted(total, "suggestion")}: {done.toLocaleString("en")} done
          </span>
          <progress max={total} value={done} aria-label={`${doing} ${counted(total, "suggestion")}`} />
        </>
      ) : (
        <>
          <span class="bulk-count" role="status">
            {resultText(action, counts)}
            {state !== "done" && `. ${message || "It stopped before the end."}`}
          </span>
          <button type="button" onClick={() => (job.value = null)}>
            Close
          </button>
        </>
      )}
    </div>
  );
}
