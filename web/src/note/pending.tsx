// The pending suggestions of this note, in short.

import { Age } from "../shell/age";
import { wordDiff } from "../shell/diff";
import type { CardActions } from "./decide";
import type { Suggestion } from "./marked";

const MOST = 100;
const LETTERS = 600;

export function PendingPanel({
  suggestions,
  actions,
  onShow,
}: {
  suggestions: readonly Suggestion[];
  actions: CardActions;
  onShow: (suggestion: Suggestion) => void;
}) {
  if (!suggestions.length) return <p class="muted">Nothing is suggested for this note.</p>;
  return (
    <>
      {!actions.mayDecide && <p class="muted">{actions.reason}</p>}
      <ul class="pending-list">
        {suggestions.slice(0, MOST).map((one) => (
          <li key={one.id} class="thread">
            <button type="button" class="text-button thread-place" onClick={() => onShow(one)}>
              {one.author} {one.time > 0 && <Age time={one.time} />}
            </button>
            <p class="pending-change">
              {wordDiff(one.old.slice(0, LETTERS), one.new.slice(0, LETTERS)).map((piece, at) =>
                piece.kind === "inserted" ? (
                  <ins key={at}>{piece.text}</ins>
                ) : piece.kind === "deleted" ? (
                  <del key={at}>{piece.text}</del>
                ) : (
                  <span key={at}>{piece.text}</span>
                ),
              )}
              {Math.max(one.old.length, one.new.length) > LETTERS && "…"}
            </p>
            {actions.mayDecide && (
              <div class="thread-buttons">
                <button type="button" class="accept" onClick={() => actions.accept(one)}>
                  Accept
                </button>
                <button type="button" class="reject" onClick={() => actions.reject(one)}>
                  Reject
                </button>
                <button type="button" onClick={() => actions.edit(one)}>
                  Edit
                </button>
              </div>
            )}
          </li>
        ))}
      </ul>
      {suggestions.length > MOST && (
        <p class="muted">
          {suggestions.length - MOST} more; the <a href="/review">review page</a> has them all.
        </p>
      )}
    </>
  );
}
