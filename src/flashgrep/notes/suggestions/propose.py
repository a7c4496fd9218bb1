"""Makes an edit of a note a suggestion in one step: reads, plans, records and commits.

Nothing comes between looking at the note and changing it. What a caller has read may be older, so
the caller passes a `check`, which gets the present text and refuses by raising.

An author's own pending insertion is changed in place, or withdrawn, without anybody's decision.
That stops at words somebody else has typed into it: deleting those takes a decision, so the edit is
refused. The earlier note is kept as a version that can be restored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from flashgrep.errors import Cancelled, StringNotFound
from flashgrep.notes.access.roles import Author, AuthorKind
from flashgrep.notes.document.loading import Published
from flashgrep.notes.document.note import Amendment, NoteRecords
from flashgrep.notes.library import Library
from flashgrep.notes.markup import critic
from flashgrep.notes.store.catalogue import CatalogueEntry
from flashgrep.notes.suggestions import pending as pending_suggestions
from flashgrep.notes.suggestions.outcomes import Ended
from flashgrep.notes.suggestions.pending import Pending, Recorded, digest, pending
from flashgrep.notes.suggestions.plan import Edit as Edit
from flashgrep.notes.suggestions.plan import SuggestionPlan, suggest
from flashgrep.notes.suggestions.refusals import Words as Words
from flashgrep.notes.suggestions.refusals import Writers, check_own
from flashgrep.system.clock import milliseconds

if TYPE_CHECKING:
    from flashgrep.notes.knowledge_base import KnowledgeBase

Check = Callable[[CatalogueEntry, str], None]

_IN_MARKS: Final = "{}+-~=<>@"
"""What delimiters and the end of metadata are made of."""


class Markup(StrEnum):
    """What a mark contains beside its text."""

    PLAIN = "plain"
    COMMENTATOR = "commentator"


@dataclass(frozen=True, slots=True)
class Proposed:
    """What became of an edit."""

    published: Published
    """The note afterwards."""
    ids: tuple[str, ...]
    """The suggestions that the edit made or changed."""
    lines: tuple[int, ...]
    """The lines of the accepted view, before, where it applied."""
    is_repeated: bool
    """The same edit was made already; nothing was done."""


def propose(
    kb: KnowledgeBase,
    path: str,
    edit: Edit,
    author: str,
    *,
    is_cancelled: Callable[[], bool] = lambda: False,
    **options: Any,
) -> Proposed:
    """`propose_in` for any thread. Cancelled, it is made as a whole or not at all."""
    job = partial(
        propose_in, path=path, edit=edit, author=author, is_cancelled=is_cancelled, **options
    )
    return kb.ask(job, is_cancelled)


def propose_in(
    library: Library,
    path: str,
    edit: Edit,
    author: str,
    *,
    shown: str | None = None,
    markup: Markup = Markup.PLAIN,
    check: Check | None = None,
    source: AuthorKind = AuthorKind.LOCAL,
    now: Callable[[], int] = milliseconds,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Proposed:
    """Suggest an edit of the note at `path`; on return it is durable. `shown` is for messages.

    `source` is the kind of the author: what another kind goes by the same name is not its own.
    """
    entry, time = library.find(path), now()
    step = _ProposeStep(
        edit=edit,
        who=Author(author, source),
        shown=shown or path,
        prefix=metadata(author, time) if markup is Markup.COMMENTATOR else "",
        now=time,
        writers=partial(library.writers, entry.id),
    )

    def plan(text: str, besides: Mapping[str, NoteRecords]) -> Amendment | None:
        if check is not None:
            check(entry, text)
        amendment = step.amendment(text, besides)
        if is_cancelled():
            raise Cancelled("the edit was cancelled; nothing was changed")
        return amendment

    with library.together():
        published = library.amend(entry.id, plan, author, source=source)
        if library.tables is not None:
            for one in step.taken_back:
                library.tables.outcomes.withdrawn(replace(one, note=entry.id))
    return Proposed(
        published=published, ids=step.ids, lines=step.lines, is_repeated=step.is_repeated
    )


@dataclass
class _ProposeStep:
    """One edit on its way from words to an amendment."""

    edit: Edit
    who: Author
    shown: str
    prefix: str
    now: int
    writers: Writers
    ids: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    is_repeated: bool = True
    taken_back: tuple[Ended, ...] = ()
    """The suggestions that its author takes back with it."""

    def amendment(self, text: str, besides: Mapping[str, NoteRecords]) -> Amendment | None:
        asked = digest(self.edit.old, self.edit.new)
        memory = besides.get(pending_suggestions.withdrawn_id(self.who.name))
        if memory and pending_suggestions.is_withdrawn(memory.value, asked, text):
            return None
        known = pending_suggestions.recorded(besides)
        try:
            plan = suggest(
                text, known, self.edit, self.who.name, self.shown, self.prefix, self.who.source
            )
        except StringNotFound:
            if memory and pending_suggestions.is_withdrawn(memory.value, asked):
                return None
            raise
        self.lines, self.is_repeated = plan.lines, plan.is_repeated
        if plan.is_repeated:
            return None
        note = pending(text, known)
        self.taken_back = tuple(
            _taken_back(note, record, besides) for record in known if record.id in plan.dropped
        )
        check_own(note, plan.splices, self.who, self.writers, self.edit.words)
        return self._carried_out(plan, besides, asked)

    def _carried_out(
        self, plan: SuggestionPlan, besides: Mapping[str, NoteRecords], asked: str
    ) -> Amendment:
        put: dict[str, NoteRecords | None] = dict.fromkeys(plan.dropped)
        for record in plan.changed:
            value = besides[record.id].value
            put[record.id] = (
                NoteRecords(value, record.spans)
                if record.is_comment
                else pending_suggestions.beside(record, self.now, value)
            )
        for record in plan.made:
            named = replace(record, id=pending_suggestions.new_id())
            put[named.id] = pending_suggestions.beside(named, self.now)
        said = {record.id for record in plan.changed if record.is_comment}
        self.ids = tuple(
            name for name, found in put.items() if found is not None and name not in said
        )
        if plan.dropped and not self.ids:
            author = self.who.name
            put[pending_suggestions.withdrawn_id(author)] = pending_suggestions.withdrawn(
                author, asked, plan.text, self.now
            )
        is_in_place = any(splice.end > splice.start for splice in plan.splices)
        return Amendment(plan.splices, put, keeps_version=is_in_place)


def _taken_back(note: Pending, record: Recorded, besides: Mapping[str, NoteRecords]) -> Ended:
    old, new = note.change(record)
    return Ended(
        author=Author(record.author, record.source),
        note="",
        suggestion=record.id,
        made=pending_suggestions.made_at(besides[record.id].value),
        old=old,
        new=new,
    )


def metadata(author: str, time_ms: int) -> str:
    """What Obsidian Commentator writes at the beginning of a mark; its clock counts seconds."""
    name = json.dumps(author)
    if critic.token(name) or "@@" in name:
        name = "".join(f"\\u{ord(c):04x}" if c in _IN_MARKS else c for c in name)
    return f'{{"author":{name},"time":{time_ms // 1000}}}@@'
