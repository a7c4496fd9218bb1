// Dialogs of the review page: why something is rejected, and how many are about to be decided.

import { useRef, useState } from "preact/hooks";
import { counted } from "../shell/age";
import { closeAround, Dialog } from "../shell/dialog";
import { decide } from "./decisions";
import { listed } from "./suggestions";
import type { Question } from "./work";
import { question, reject } from "./work";

const LONGEST_REASON = 1000;

export function Questions() {
  const asked = question.value;
  if (!asked) return null;
  return asked.kind === "reason" ? <WhyNot id={asked.id} /> : <HowMany asked={asked} />;
}

const close = () => (question.value = null);

function WhyNot({ id }: { id: string }) {
  const [reason, setReason] = useState("");
  const one = listed.value.get(id);
  return (
    <Dialog title="Reject with a reason" onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          closeAround(event.currentTarget);
          close();
          reject(id, reason);
        }}
      >
        <p>
          <label for="review-reason">{one?.author ?? "The author"} is told why:</label>
        </p>
        <input
          id="review-reason"
          class="wide"
          type="text"
          autofocus
          dir="auto"
          autocomplete="off"
          maxLength={LONGEST_REASON}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
        <footer class="dialog-foot">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="danger">
            Reject
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function HowMany({ asked }: { asked: Extract<Question, { kind: "many" }> }) {
  const reason = useRef<HTMLInputElement>(null);
  const { shown, action } = asked;
  const chosen = [...shown.keys()].flatMap((id) => listed.value.get(id) ?? []);
  const changed = chosen.filter((one) => one.digest !== shown.get(one.id)).length;
  const notes = new Set(chosen.map((one) => one.note));
  const authors = new Set(chosen.map((one) => one.author));
  const verb = action === "accept" ? "Accept" : "Reject";
  const where = notes.size === 1 ? [...notes][0] : counted(notes.size, "note");
  const whose = authors.size === 1 ? [...authors][0] : counted(authors.size, "author");
  return (
    <Dialog title={`${verb} ${counted(shown.size, "suggestion")}?`} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const said = reason.current?.value.trim();
          closeAround(event.currentTarget);
          close();
          void decide(shown, action, said ? { reason: said } : {});
        }}
      >
        <p class="break">
          In {where}, by {whose}. Each decision can be undone.
        </p>
        {changed > 0 && (
          <p class="problem" role="alert">
            {changed.toLocaleString("en")} of them {changed === 1 ? "has" : "have"} changed since you chose{" "}
            {changed === 1 ? "it: it" : "them: they"} will be left for another look.
          </p>
        )}
        {action === "reject" && (
          <p>
            <label for="review-reason">Reason (not required)</label>
            <input id="review-reason" ref={reason} class="wide" type="text" dir="auto" autocomplete="off" maxLength={LONGEST_REASON} />
          </p>
        )}
        <footer class="dialog-foot">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" autofocus class={action === "accept" ? "primary" : "danger"}>
            {verb} {shown.size.toLocaleString("en")}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
