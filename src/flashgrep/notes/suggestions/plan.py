"""An edit as a suggestion: which marks to insert around which text, or why not.

The edit is asked for in the accepted view, what `read` shows. It becomes splices of the text that
leave `{--old--}{++new++}`, whole strings and no diff, with `old` untouched between its delimiters:
what a person is typing in it stays. Marks never nest:

    in plain text              marks around it
    over one's own suggestion  one suggestion for the whole stretch: what the note said before all
                               of it in the deletion, what it is to say in the insertion
    inside one's own insertion the same, where it stands
    back to what was there     the suggestion goes away
    over anything else         refused: another's suggestion, a typed mark, a comment, a highlight

A call that is sent again finds its own suggestion and succeeds without doing anything. Before a
plan is handed out it is tried: the base view must be what it was and the accepted view what was
asked for. So whatever odd text stands around, a suggestion says what it should or is not made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from flashgrep import limits
from flashgrep.notes.access.author import Author, AuthorKind
from flashgrep.notes.document.splices import Push, Splice, growth, spliced
from flashgrep.notes.markup.critic import Span
from flashgrep.notes.suggestions import refusals
from flashgrep.notes.suggestions.refusals import WORDS, Words
from flashgrep.notes.suggestions.regions import Match, Part, Regions, in_text
from flashgrep.notes.suggestions.suggestion import Pending, Recorded, digest, pending
from flashgrep.workspace.occurrences import find, in_file_quotes


@dataclass(frozen=True, slots=True)
class Edit:
    """What a caller asks for, in the words of the accepted view."""

    old: str
    new: str
    replace_all: bool = False
    words: Words = WORDS
    """For messages."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What turns the text into the one with the suggestion."""

    splices: tuple[Splice, ...]
    """From left to right, on the text as it was given."""
    text: str
    """The text afterwards; the spans below are places in it."""
    made: tuple[Recorded, ...]
    """New suggestions; their ids are for the caller to give."""
    changed: tuple[Recorded, ...]
    """Suggestions that now stand elsewhere or say something else."""
    dropped: tuple[str, ...]
    """Ids of suggestions that are no more: taken back, or part of another one now."""
    lines: tuple[int, ...]
    """The lines of the accepted view, before, where the edit applies."""
    is_repeated: bool = False
    """The same edit is pending already; nothing is to be done."""


def suggest(
    text: str,
    records: Sequence[Recorded],
    edit: Edit,
    author: str,
    shown: str,
    prefix: str = "",
    source: AuthorKind | None = AuthorKind.LOCAL,
) -> Plan:
    """Plan an edit of the note `shown` as a suggestion by `author`, or refuse with the reason.

    `records` are all of the note's, in the order they were made; `prefix` is metadata to write at
    the beginning of each mark (`--kb-markup commentator`); `source` is the kind of the author.
    """
    refusals.check(edit.old, edit.new, edit.words)
    note = pending(text, records)
    who = Author(author, source)
    matches = _matches(note, edit, who, shown)
    if not matches:
        return Plan(
            splices=(), text=text, made=(), changed=(), dropped=(), lines=(), is_repeated=True
        )
    regions = Regions(note, who, prefix, edit.words)
    parts = [regions.part(region) for region in regions.around(matches)]
    plan = _assembled(note, parts, who, digest(edit.old, edit.new), matches)
    _verify(note, plan, matches, edit.words)
    return plan


# ── occurrences ─────────────────────────────────────────────────────────────────────────────────


def _matches(note: Pending, edit: Edit, author: Author, shown: str) -> list[Match]:
    """Where the edit applies: nowhere, if it is pending already; refused if it cannot be told."""
    view = note.reading.accepted
    repeated = _repeated(note, edit, author)
    found = find(view.text, edit.old, fold_quotes=not repeated)
    spans = list(found.spans())
    left = [span for span in spans if not _is_done(note, span, repeated)]
    if not left and repeated:
        return []
    if not left:
        raise refusals.not_found(note, edit.old, shown, edit.words)
    count = found.count if len(left) == len(spans) else len(left)
    if count > 1 and not edit.replace_all:
        starts = [start for start, _ in left]
        raise refusals.not_unique(view.text, starts, count, shown, edit.words)
    if count > limits.REPLACED_OCCURRENCES:
        raise refusals.too_many(count, shown, edit.words)
    matches = []
    for start, end in left:
        new = edit.new
        if found.by_quotes:
            new = in_file_quotes(view.text[start:end], edit.old, edit.new)
        matches.append(Match(start, end, new))
    if all(match.new == view.text[match.start : match.end] for match in matches):
        raise refusals.no_changes(edit.words)
    return matches


def _repeated(note: Pending, edit: Edit, author: Author) -> frozenset[str]:
    """The ids of the author's suggestions that this very edit made."""
    asked = digest(edit.old, edit.new)
    return frozenset(
        record.id
        for record in note.records
        if record.is_by(author)
        and note.extent(record)
        and (record.asked == asked or note.change(record) == (edit.old, edit.new))
    )


def _is_done(note: Pending, span: Span, repeated: Set[str]) -> bool:
    """Whether an occurrence is what a suggestion made of it.

    As alpha stands in alpha0, and as ba stands in bbaa again when it was deleted there once.
    """
    return bool(repeated) and any(
        owner.id in repeated for owner in note.owners(*in_text(note, span))
    )


# ── the plan ────────────────────────────────────────────────────────────────────────────────────


def _assembled(
    note: Pending, parts: Sequence[Part], author: Author, asked: str, matches: Sequence[Match]
) -> Plan:
    made: list[Recorded] = []
    changed: list[Recorded] = []
    shift = 0
    for part in parts:
        at = part.start + shift
        if part.spans:
            record = replace(part.keeps or Recorded("", author.name, ()), source=author.source)
            spans = tuple((at + start, at + end) for start, end in part.spans)
            (changed if part.keeps else made).append(replace(record, spans=spans, asked=asked))
        shift += sum(map(growth, part.splices))
    splices = tuple(splice for part in parts for splice in part.splices)
    dropped = tuple(dropped for part in parts for dropped in part.drops)
    lines = tuple(_lines(note.reading.accepted.text, matches))
    after = spliced(note.reading.text, splices)
    return Plan(
        splices=splices,
        text=after,
        made=tuple(made),
        changed=tuple(changed),
        dropped=dropped,
        lines=lines,
    )


def _lines(text: str, matches: Iterable[Match]) -> Iterator[int]:
    line, at = 1, 0
    for match in matches:
        line += text.count("\n", at, match.start)
        at = match.start
        yield line


def _verify(note: Pending, plan: Plan, matches: Sequence[Match], words: Words) -> None:
    """Refuse a plan that would not read back as what was asked."""
    edits = [Splice(match.start, match.end, match.new) for match in matches]
    wanted = spliced(note.reading.accepted.text, edits)
    after = pending(plan.text, after_plan(note.records, plan)).reading
    if after.base.text != note.reading.base.text or after.accepted.text != wanted:
        raise refusals.does_not_read_back(plan.lines[0], words)


def after_plan(records: Iterable[Recorded], plan: Plan) -> list[Recorded]:
    """All records of the note as they are when a plan was carried out."""
    changed = {record.id: record for record in plan.changed}
    gone = set(plan.dropped)
    push = Push(plan.splices)
    kept = [
        changed.get(record.id) or replace(record, spans=push.spans(record.spans))
        for record in records
        if record.id not in gone
    ]
    return [*kept, *plan.made]
