"""An edit as a suggestion: which text becomes one, and which marks go around it.

The edit is asked for in the accepted view, what `read` shows. It becomes splices of the text that
leave `{--old--}{++new++}`, whole strings and no diff, with `old` untouched between its delimiters:
what a person is typing in it stays. Marks never nest:

    in plain text              marks around it
    over one's own suggestion  one suggestion for the whole stretch: what the note said before all
                               of it in the deletion, what it is to say in the insertion
    inside one's own insertion the same, in place
    back to what was there     the suggestion goes away
    in a passage with comments the highlight is opened around it (see `commented`)
    over anything else         refused: another's suggestion, a typed mark, a comment, a highlight

A repeated call finds its own suggestion and succeeds without doing anything. Before a plan is
handed out it is tried: the base view must not change, and the accepted view must be what was asked
for. So whatever odd text is around, a suggestion says what it should or is not made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from flashgrep import limits
from flashgrep.notes.access.roles import Author, AuthorKind
from flashgrep.notes.document.text import Push, TextSplice, growth, spliced
from flashgrep.notes.markup.critic import DELIMITERS, WIDTH, MarkKind, Span
from flashgrep.notes.markup.seams import joined
from flashgrep.notes.suggestions import refusals
from flashgrep.notes.suggestions.commented import OpenedPassage, opened
from flashgrep.notes.suggestions.pending import Pending, Recorded, digest, pending
from flashgrep.notes.suggestions.refusals import WORDS, Words
from flashgrep.workspace.occurrences import find, in_file_quotes
from flashgrep.workspace.text import common_prefix

# ── from occurrences to splices ──────────────────────────────────────────────────────────────────
# From an edit's occurrences to splices: what is rewritten as one suggestion, and how.
#
# A region is a stretch of the text whose two ends are outside every mark. It is rewritten as
# `{--` its base text `--}{++` what it is to say `++}`, and the base text is never touched.


@dataclass(frozen=True, slots=True)
class Match:
    """An occurrence of the old string in the accepted view, and what it becomes."""

    start: int
    end: int
    new: str


@dataclass(slots=True)
class Region:
    """A stretch of the text that becomes one suggestion, and the occurrences in it."""

    start: int
    end: int
    matches: list[Match]


@dataclass(frozen=True, slots=True)
class Part:
    """A region's splices, and where its marks are afterwards, counted from its start."""

    splices: list[TextSplice]
    start: int
    spans: list[Span]
    keeps: Recorded | None
    drops: tuple[str, ...]
    opens: OpenedPassage | None = None
    """The commented passage that it is in."""


class Regions:
    """Turns occurrences into splices, for one author."""

    def __init__(self, note: Pending, author: Author, prefix: str, words: Words = WORDS) -> None:
        self._note = note
        self._author = author
        self._prefix = prefix
        self._words = words

    def around(self, matches: Iterable[Match]) -> list[Region]:
        """The stretches to rewrite, with the author's suggestions they touch taken in whole."""
        regions: list[Region] = []
        for match in matches:
            start, end = self._widened(*in_text(self._note, (match.start, match.end)))
            joined = [match]
            while regions and start < regions[-1].end:
                last = regions.pop()
                start, end = min(start, last.start), max(end, last.end)
                joined = last.matches + joined
            regions.append(Region(start, end, joined))
        return regions

    def _widened(self, start: int, end: int) -> Span:
        while True:
            extents = [self._note.extent(own) for own in self._own(start, end)]
            first = min([start, *(extent[0] for extent in extents if extent)])
            last = max([end, *(extent[1] for extent in extents if extent)])
            if (first, last) == (start, end):
                return start, end
            start, end = first, last

    def _own(self, start: int, end: int) -> list[Recorded]:
        """The author's suggestions that a stretch touches, in the order they were made."""
        owners = self._note.owners(start, end)
        return [record for record in owners if record.is_by(self._author)]

    def part(self, region: Region) -> Part:
        """The splices for a region."""
        reading, start, end = self._note.reading, region.start, region.end
        old = reading.base.text[reading.base.to_view(start) : reading.base.to_view(end)]
        new = self._said(region)
        refusals.check_readable(old, new, self._words)
        own = self._own(start, end)
        if len(own) == 1 and new and new != old and self._stands_in_insertion(region):
            return self._in_place(region, own[0])
        if not own and (passage := opened(self._note, start, end)):
            return self._in_passage(region, passage, old, new)
        refusals.check_free(self._note, self._author, start, end, self._words)
        return self._rewritten(region, own, old, new)

    def _in_passage(self, region: Region, passage: OpenedPassage, old: str, new: str) -> Part:
        """Put marks around a part of a commented passage, or all of it."""
        wider = Region(passage.start, passage.end, region.matches)
        head, tail, spans = self._marks(wider, old, new)
        shift = len(passage.before)
        return Part(
            splices=self._around(wider, passage.before + head, tail + passage.after),
            start=wider.start,
            spans=[(start + shift, end + shift) for start, end in spans],
            keeps=None,
            drops=(),
            opens=passage,
        )

    def _said(self, region: Region) -> str:
        """What a region is to say, in the accepted view."""
        view = self._note.reading.accepted
        at = view.to_view(region.start)
        pieces = []
        for match in region.matches:
            pieces += [view.text[at : match.start], match.new]
            at = match.end
        return "".join([*pieces, view.text[at : view.to_view(region.end)]])

    def _stands_in_insertion(self, region: Region) -> bool:
        """Whether all occurrences of a region are in the new text of one mark."""
        first, _ = in_text(self._note, (region.matches[0].start, region.matches[0].end))
        _, last = in_text(self._note, (region.matches[-1].start, region.matches[-1].end))
        touched = self._note.touching(first, last)
        return any(mark.new[0] <= first and last <= mark.new[1] for mark in touched)

    def _in_place(self, region: Region, own: Recorded) -> Part:
        """Change the author's own insertion only where it changes."""
        splices = []
        for match in region.matches:
            start, end = in_text(self._note, (match.start, match.end))
            splices += self._trimmed(TextSplice(start, end, match.new))
        spans = [
            (_moved(start, splices) - region.start, _moved(end, splices) - region.start)
            for start, end in (mark.span for mark in self._note.marks_of(own))
        ]
        return Part(splices=splices, start=region.start, spans=spans, keeps=own, drops=())

    def _rewritten(self, region: Region, own: Sequence[Recorded], old: str, new: str) -> Part:
        """Leave a region's base text where it is, and put one pair of marks around it."""
        head, tail, spans = self._marks(region, old, new)
        kept = own[0] if own and spans else None
        return Part(
            splices=self._around(region, head, tail),
            start=region.start,
            spans=spans,
            keeps=kept,
            drops=tuple(record.id for record in own if record is not kept),
        )

    def _marks(self, region: Region, old: str, new: str) -> tuple[str, str, list[Span]]:
        """What goes before and after the old text, and where the marks are from there."""
        head, tail = "", ""
        spans: list[Span] = []
        if old == new:
            return head, tail, spans
        if old:
            head = self._beginning(region, MarkKind.DELETION)
            tail = DELIMITERS[MarkKind.DELETION].closer
            spans.append((0, len(head) + len(old) + len(tail)))
        if new:
            start = len(head) + len(old) + len(tail)
            opener = self._beginning(region, MarkKind.INSERTION)
            tail += opener + new + DELIMITERS[MarkKind.INSERTION].closer
            spans.append((start, len(head) + len(old) + len(tail)))
        return head, tail, spans

    def _beginning(self, region: Region, kind: MarkKind) -> str:
        """A mark's opener with its metadata; of one that is at that end already, as it is.

        What a person types right after an opener is text. Were metadata put in between, what was
        typed meanwhile could become part of it.
        """
        for mark in self._note.touching(region.start, region.end):
            at_end = (
                mark.end == region.end if kind is MarkKind.INSERTION else mark.start == region.start
            )
            if mark.kind is kind and at_end:
                return self._note.reading.text[mark.start : mark.body]
        return DELIMITERS[kind].opener + self._prefix

    def _around(self, region: Region, head: str, tail: str) -> list[TextSplice]:
        """Splices that leave a region as head, its base text, tail."""
        kept = self._note.reading.base.spans(region.start, region.end)
        if not kept:
            return self._trimmed(TextSplice(region.start, region.end, head + tail))
        splices = self._trimmed(TextSplice(region.start, kept[0][0], head))
        for (_, end), (start, _) in pairwise(kept):
            splices.append(TextSplice(end, start))
        return splices + self._trimmed(TextSplice(kept[-1][1], region.end, tail))

    def _trimmed(self, splice: TextSplice) -> list[TextSplice]:
        """Trim a splice to what really changes, so that anchors of records stay valid."""
        there = self._note.reading.text[splice.start : splice.end]
        if not there:
            return [splice] if splice.text else []
        head = common_prefix(there, splice.text)
        tail = common_prefix(there[head:][::-1], splice.text[head:][::-1])
        text = splice.text[head : len(splice.text) - tail]
        start, end = splice.start + head, splice.end - tail
        return [TextSplice(start, end, text)] if text or start < end else []


def _moved(place: int, splices: Iterable[TextSplice]) -> int:
    """Where a place is after splices that do not touch the character before or after it."""
    return place + sum(growth(splice) for splice in splices if splice.end <= place)


def in_text(note: Pending, span: Span) -> Span:
    """Where a stretch of the accepted view is in the text."""
    view = note.reading.accepted
    return view.start_of(span[0]), view.end_of(span[1])


# ── plan ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Edit:
    """What a caller asks for, in the words of the accepted view."""

    old: str
    new: str
    replace_all: bool = False
    words: Words = WORDS
    """For messages."""


@dataclass(frozen=True, slots=True)
class SuggestionPlan:
    """How to turn the text into the one with the suggestion."""

    splices: tuple[TextSplice, ...]
    """From left to right, on the text as it was given."""
    text: str
    """The text afterwards; the spans below are places in it."""
    made: tuple[Recorded, ...]
    """New suggestions; their ids are for the caller to give."""
    changed: tuple[Recorded, ...]
    """Suggestions that are now elsewhere or say something else."""
    dropped: tuple[str, ...]
    """Ids of suggestions that are gone: withdrawn, or part of another one now."""
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
) -> SuggestionPlan:
    """Plan an edit of the note `shown` as a suggestion by `author`, or refuse with the reason.

    `records` are all of the note's, in the order they were made; `prefix` is metadata to write at
    the beginning of each mark (`--kb-markup commentator`); `source` is the kind of the author.
    """
    refusals.check(edit.old, edit.new, edit.words)
    note = pending(text, records)
    who = Author(author, source)
    matches = _matches(note, edit, who, shown)
    if not matches:
        return SuggestionPlan(
            splices=(), text=text, made=(), changed=(), dropped=(), lines=(), is_repeated=True
        )
    regions = Regions(note, who, prefix, edit.words)
    parts = [regions.part(region) for region in regions.around(matches)]
    plan = _assembled(note, parts, who, digest(edit.old, edit.new), matches)
    _verify(note, plan, matches, edit.words)
    return plan


# ── occurrences ─────────────────────────────────────────────────────────────────────────────────


def _matches(note: Pending, edit: Edit, author: Author, shown: str) -> list[Match]:
    """Where the edit applies: nowhere, if it is pending already; refused if that is not clear."""
    view = note.reading.accepted
    repeated = _repeated(note, edit, author)
    found = find(view.text, edit.old, fold_quotes=not repeated)
    if repeated:
        left = [span for span in found.spans() if not _is_done(note, span, repeated)]
    else:  # no more than are replaced at once: there may be millions
        left = list(islice(found.spans(), limits.REPLACED_OCCURRENCES + 1))
    if not left and repeated:
        return []
    if not left:
        raise refusals.not_found(note, edit.old, shown, edit.words)
    count = len(left) if repeated and len(left) < found.apart else found.count
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
        for record in note.suggestions
        if record.is_by(author)
        and note.extent(record)
        and (record.asked == asked or note.change(record) == (edit.old, edit.new))
    )


def _is_done(note: Pending, span: Span, repeated: Set[str]) -> bool:
    """Whether an occurrence is what a suggestion made of it.

    As alpha is in alpha0, and as ba is in bbaa again when it was deleted there once.
    """
    return bool(repeated) and any(
        owner.id in repeated for owner in note.owners(*in_text(note, span))
    )


# ── the plan ────────────────────────────────────────────────────────────────────────────────────


def _assembled(
    note: Pending, parts: Sequence[Part], author: Author, asked: str, matches: Sequence[Match]
) -> SuggestionPlan:
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
    said = [part.opens.moved(part.splices, splices) for part in parts if part.opens]
    if len({record.id for record in said}) < len(said):
        raise refusals.several_in_passage()
    dropped = tuple(dropped for part in parts for dropped in part.drops)
    lines = tuple(_lines(note.reading.accepted.text, matches))
    after = spliced(note.reading.text, splices)
    return SuggestionPlan(
        splices=splices,
        text=after,
        made=tuple(made),
        changed=(*changed, *said),
        dropped=dropped,
        lines=lines,
    )


def _lines(text: str, matches: Iterable[Match]) -> Iterator[int]:
    line, at = 1, 0
    for match in matches:
        line += text.count("\n", at, match.start)
        at = match.start
        yield line


def _verify(note: Pending, plan: SuggestionPlan, matches: Sequence[Match], words: Words) -> None:
    """Refuse a plan that would not read back as what was asked."""
    edits = [TextSplice(match.start, match.end, match.new) for match in matches]
    accepted = note.reading.accepted.text
    wanted = spliced(accepted, edits)
    _check_joined(accepted, wanted, edits, plan.lines, words)
    after = pending(plan.text, after_plan(note.records, plan)).reading
    if after.base.text != note.reading.base.text or after.accepted.text != wanted:
        raise refusals.does_not_read_back(plan.lines[0], words)


def _check_joined(
    before: str, after: str, edits: Sequence[TextSplice], lines: Sequence[int], words: Words
) -> None:
    """Refuse what would, once it is accepted, make a mark of the text beside it."""
    grown = 0
    for edit, line in zip(edits, lines, strict=False):
        start, end = edit.start + grown, edit.start + grown + len(edit.text)
        grown += growth(edit)
        old = before[edit.start : edit.end]
        sides = after[max(start - WIDTH, 0) : start], after[end : end + WIDTH]
        if found := joined(sides[0], old, edit.text, sides[1]):
            raise refusals.joins(found, line, words)


def after_plan(records: Iterable[Recorded], plan: SuggestionPlan) -> list[Recorded]:
    """All records of the note after a plan was carried out."""
    changed = {record.id: record for record in plan.changed}
    gone = set(plan.dropped)
    push = Push(plan.splices)
    kept = [
        changed.get(record.id) or replace(record, spans=push.spans(record.spans))
        for record in records
        if record.id not in gone
    ]
    return [*kept, *plan.made]
