// The person's last decisions, each of which can be undone.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Age } from "../shell/age";
import { inUrl, told } from "../shell/api";
import { closeAround, Dialog } from "../shell/dialog";
import { hear } from "../shell/events";
import { session } from "../shell/session";
import { wordDiff } from "../shell/diff";
import { clipped, Pieces } from "./change";
import type { Decision } from "./decisions";
import { outcomeName, ownDecisions } from "./decisions";
import { takeBack } from "./work";

const MOST = 100;

const isOpen = signal(false);
const past = signal<Decision[] | null>(null);
const failure = signal("");

export function openPast(): void {
  isOpen.value = true;
}

async function load(): Promise<void> {
  try {
    past.value = await ownDecisions(MOST);
    failure.value = "";
  } catch (error) {
    failure.value = told(error);
  }
}

export function PastDialog() {
  if (!isOpen.value) return null;
  return (
    <Dialog title="Your last decisions" class="past-dialog" onClose={() => (isOpen.value = false)}>
      <PastList most={MOST} />
    </Dialog>
  );
}

const OUTCOMES = { accepted: "Accepted", rejected: "Rejected", edited: "Accepted with your text" };

export function PastList({ most }: { most: number }) {
  useEffect(() => {
    void load();
    let timer = 0;
    const end = hear("decided", () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => void load(), 250);
    });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, []);
  if (failure.value) return <p class="problem">{failure.value}</p>;
  if (!past.value) return <p class="muted">Loading…</p>;
  const rows = past.value.slice(0, most);
  if (!rows.length) return <p class="muted">You have decided nothing yet.</p>;
  return (
    <ol class="past">
      {rows.map((one) => (
        <li key={one.decision}>
          <div class="past-text">
            <p>
              <b>{OUTCOMES[outcomeName(one)]}</b> <span class="muted"><Age time={one.time} /></span>{" "}
              <a href={`/notes/${inUrl(one.note)}`}>{one.note}</a>
            </p>
            <pre class="change-source" dir="auto">
              <Pieces pieces={short(one)} />
            </pre>
            {one.reason && <p class="muted">Reason: “{one.reason}”</p>}
            {one.undone_by !== null && (
              <p class="muted">Undone by {one.undone_by === session.value?.name ? "you" : one.undone_by}</p>
            )}
          </div>
          {one.undone_by === null && (
            <button
              type="button"
              onClick={(event) => {
                closeAround(event.currentTarget);
                isOpen.value = false;
                takeBack(one.decision);
              }}
            >
              Undo
            </button>
          )}
        </li>
      ))}
    </ol>
  );
}

const LONGEST = 200;

function short(one: Decision) {
  const [pieces] = clipped(wordDiff(one.old.slice(0, LONGEST), (one.text ?? one.new).slice(0, LONGEST)));
  return pieces;
}
