// Who may decide, and why somebody may not.

import { may, session } from "../shell/session";

export { mayOn } from "../shell/session";

/** Why nothing can be decided here at all; empty where it can. */
export function whyNoDecisions(): string {
  const who = session.value;
  if (who?.read_only) return "This server runs with --read-only: nothing can be decided here.";
  if (!may("write")) return `Deciding needs the role write; you have ${who?.role ?? "none"}.`;
  return "";
}
