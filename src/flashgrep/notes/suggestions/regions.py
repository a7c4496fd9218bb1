"""From an edit's occurrences to splices: what is rewritten as one suggestion, and how.

A region is a stretch of the text whose two ends stand outside every mark. It is rewritten as
`{--` its base text `--}{++` what it is to say `++}`, and the base text is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from flashgrep.notes.access.author import Author
from flashgrep.notes.document.splices import Splice, growth
from flashgrep.notes.markup.critic import DELIMITERS, Kind, Span
from flashgrep.notes.suggestions import refusals
from flashgrep.notes.suggestions.refusals import WORDS, Words
from flashgrep.notes.suggestions.suggestion import Pending, Recorded


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
    """A region's splices, and where its marks stand afterwards, counted from its start."""

    splices: list[Splice]
    start: int
    spans: list[Span]
    keeps: Recorded | None
    drops: tuple[str, ...]


class Regions:
    """The way from occurrences to splices, for one author."""

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
        refusals.check_free(self._note, self._author, start, end, self._words)
        return self._rewritten(region, own, old, new)

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
        """Whether all occurrences of a region stand in the new text of one mark."""
        first, _ = in_text(self._note, (region.matches[0].start, region.matches[0].end))
        _, last = in_text(self._note, (region.matches[-1].start, region.matches[-1].end))
        touched = self._note.touching(first, last)
        return any(mark.new[0] <= first and last <= mark.new[1] for mark in touched)

    def _in_place(self, region: Region, own: Recorded) -> Part:
        """Change the author's own insertion only where it changes."""
        splices = []
        for match in region.matches:
            start, end = in_text(self._note, (match.start, match.end))
            splices += self._trimmed(Splice(start, end, match.new))
        spans = [
            (_moved(start, splices) - region.start, _moved(end, splices) - region.start)
            for start, end in (mark.span for mark in self._note.marks_of(own))
        ]
        return Part(splices=splices, start=region.start, spans=spans, keeps=own, drops=())

    def _rewritten(self, region: Region, own: Sequence[Recorded], old: str, new: str) -> Part:
        """Leave a region's base text where it stands, and put one pair of marks around it."""
        head, tail, spans = self._marks(region, old, new)
        splices = self._around(region, head, tail)
        if not spans:
            return Part(
                splices=splices,
                start=region.start,
                spans=[],
                keeps=None,
                drops=tuple(record.id for record in own),
            )
        kept = own[0] if own else None
        return Part(
            splices=splices,
            start=region.start,
            spans=spans,
            keeps=kept,
            drops=tuple(record.id for record in own[1:]),
        )

    def _marks(self, region: Region, old: str, new: str) -> tuple[str, str, list[Span]]:
        """What goes before and behind the old text, and where the marks stand from there."""
        head, tail = "", ""
        spans: list[Span] = []
        if old == new:
            return head, tail, spans
        if old:
            head = self._beginning(region, Kind.DELETION)
            tail = DELIMITERS[Kind.DELETION].closer
            spans.append((0, len(head) + len(old) + len(tail)))
        if new:
            start = len(head) + len(old) + len(tail)
            opener = self._beginning(region, Kind.INSERTION)
            tail += opener + new + DELIMITERS[Kind.INSERTION].closer
            spans.append((start, len(head) + len(old) + len(tail)))
        return head, tail, spans

    def _beginning(self, region: Region, kind: Kind) -> str:
        """A mark's opener with its metadata; of one that stands at that end already, as it is.

        Whoever types right behind an opener types text. Were metadata put in between, what was
        typed meanwhile could become part of it.
        """
        for mark in self._note.touching(region.start, region.end):
            at_end = (
                mark.end == region.end if kind is Kind.INSERTION else mark.start == region.start
            )
            if mark.kind is kind and at_end:
                return self._note.reading.text[mark.start : mark.body]
        return DELIMITERS[kind].opener + self._prefix

    def _around(self, region: Region, head: str, tail: str) -> list[Splice]:
        """Splices that leave a region as head, its base text, tail."""
        kept = self._note.reading.base.spans(region.start, region.end)
        if not kept:
            return self._trimmed(Splice(region.start, region.end, head + tail))
        splices = self._trimmed(Splice(region.start, kept[0][0], head))
        for (_, end), (start, _) in pairwise(kept):
            splices.append(Splice(end, start))
        return splices + self._trimmed(Splice(kept[-1][1], region.end, tail))

    def _trimmed(self, splice: Splice) -> list[Splice]:
        """A splice without what stands there already, so that records keep their characters."""
        there = self._note.reading.text[splice.start : splice.end]
        head = _shared(there, splice.text)
        tail = _shared(there[head:][::-1], splice.text[head:][::-1])
        text = splice.text[head : len(splice.text) - tail]
        start, end = splice.start + head, splice.end - tail
        return [Splice(start, end, text)] if text or start < end else []


def _shared(one: str, other: str) -> int:
    """How many characters two texts share at their beginning."""
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return min(len(one), len(other))


def _moved(place: int, splices: Iterable[Splice]) -> int:
    """Where a place is after splices that do not touch the character before or behind it."""
    return place + sum(growth(splice) for splice in splices if splice.end <= place)


def in_text(note: Pending, span: Span) -> Span:
    """Where a stretch of the accepted view stands in the text."""
    view = note.reading.accepted
    return view.start_of(span[0]), view.end_of(span[1])
