"""edit and str_replace on notes: the text is left standing, and marks around it say the change.

To whoever calls, it is the edit of a file: the same words, the same refusals. What is asked for is
the accepted view, what `read` shows.
"""

from __future__ import annotations

from flashgrep import limits
from flashgrep.errors import AccessDenied, FlashgrepError
from flashgrep.kb.catalogue import Entry
from flashgrep.kb.proposing import Markup, Proposed, propose
from flashgrep.kb.refusals import Words
from flashgrep.kb.roles import Role
from flashgrep.kb.splices import with_lf
from flashgrep.kb.suggesting import Edit as Wanted
from flashgrep.tools import note_reads, places
from flashgrep.tools.answer import Answer
from flashgrep.tools.editing import Edit
from flashgrep.tools.reads import Seen
from flashgrep.tools.toolbox import Call

_REVIEW = "The change is wrapped in CriticMarkup for human review."


def suggest_edit(call: Call, path: str, edit: Edit) -> Answer:
    """Suggest an edit of the note at `path`, or refuse with both wordings."""
    notes = places.mounted(call)
    path = places.tree(call).find(path).path
    shown = places.shown_note(call.settings, path)
    _require_role(call, path, shown)
    words = Words(edit.word, edit.new_word)
    wanted = Wanted(with_lf(edit.old), with_lf(edit.new), edit.replace_all, words)
    seen = Seen.NEVER

    def check(entry: Entry, text: str) -> None:
        nonlocal seen
        seen = note_reads.judge(call.caller, entry.id, text.encode())
        if seen is Seen.NEVER and edit.needs_read:
            raise note_reads.not_read(shown)

    try:
        proposed = propose(
            notes,
            path,
            wanted,
            call.caller.author,
            shown=shown,
            markup=Markup(call.settings.kb_markup),
            check=check,
            source=call.caller.source,
            is_cancelled=lambda: bool(call.cancelled),
        )
    except FlashgrepError as error:
        if seen is Seen.CHANGED:
            error.message += "\nThe document has changed since it was last read; read it again."
        raise
    note_reads.remember(call.caller, proposed.published.note, proposed.published.data)
    return Answer(_confirmation(shown, wanted, proposed, seen is Seen.CHANGED))


def _require_role(call: Call, path: str, shown: str) -> None:
    principal = call.caller.principal
    if not principal.may(Role.SUGGEST, path):
        raise AccessDenied(
            f"{call.caller.author} may read {shown}, not suggest changes to it; ask for a token "
            "made by: flashgrep kb token make NAME --role suggest"
        )


def _confirmation(shown: str, wanted: Wanted, proposed: Proposed, is_changed: bool) -> str:
    if proposed.is_repeated:
        told = [f"{shown} is as it was: this very edit was made before, and is not made twice."]
    else:
        # The wording of the requirement; what it does not say follows behind it.
        characters = len(wanted.old) * len(proposed.lines)
        told = [
            f"Edited {shown}: replaced {characters} character{'' if characters == 1 else 's'}.",
            _REVIEW if proposed.ids else "That takes back the suggestion that was there.",
            _places(proposed.lines),
        ]
    if is_changed:
        told.append("The document had changed since it was last read.")
    return " ".join(told)


def _places(lines: tuple[int, ...]) -> str:
    if len(lines) == 1:
        return f"Line {lines[0]}."
    few = lines[: limits.LISTED_LINES]
    more = f" and {len(lines) - len(few)} more" if len(lines) > len(few) else ""
    return f"{len(lines)} occurrences, lines {', '.join(map(str, few))}{more}."
