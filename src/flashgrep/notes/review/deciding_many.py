"""Decides many suggestions of one note at once, as if one after the other.

`decide.decide` is the definition: it reads the text for each suggestion, as the one before has
left it. Decisions only delete, so everything that one of them would find follows from the
text as it was, and from what was deleted before. That holds for suggestions whose spans share no
character with another record's; the rest, where people edited delimiters, are left to `decide`.

What an undo needs is given as character offsets into the earlier text: each character keeps its
anchor, even if a later decision deletes it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from flashgrep.errors import Conflict
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import WIDTH, Mark, Span
from flashgrep.notes.markup.seams import over
from flashgrep.notes.review.decide import Cut, Edge, in_order, no_marks, refused
from flashgrep.notes.review.verdict import Action, ProposalChanged, Verdict, verdict_of
from flashgrep.notes.suggestions import comments
from flashgrep.notes.suggestions.comments import ThreadComment
from flashgrep.notes.suggestions.pending import Pending, Recorded, pending


@dataclass(frozen=True, slots=True)
class Made:
    """One decision of several."""

    cuts: tuple[Cut, ...]
    """Places in the text as this decision leaves it."""
    beside: tuple[tuple[int | None, int | None], ...]
    """For each cut the characters before and after it, counted in the text before all decisions;
    None at the text's beginning and end."""
    marks: tuple[tuple[Edge, Edge], ...]
    change: tuple[str, str]
    """What the suggestion deletes, and what it inserts."""
    comments: tuple[ThreadComment, ...] = ()
    """Those on it, which leave the text with its marks."""


class Deciding:
    """The suggestions of one text, to be decided in any order."""

    def __init__(self, text: str, records: Sequence[Recorded], verdict: Verdict | Action) -> None:
        self._text = text
        self._verdict = verdict_of(verdict)
        self._action = action = self._verdict.action
        self._read: Pending = pending(text, records)
        self._records = {record.id: record for record in self._read.suggestions}
        self._tangled = _tangled(records)
        self._marks = {name: self._suggestions(one) for name, one in self._records.items()}
        self._comments = comments.on_each(self._read)
        said = (one.mark for some in self._comments.values() for one in some)
        decided = (mark for marks in self._marks.values() for mark in marks)
        refusals = (start for mark in (*said, *decided) for start, _ in refused(mark, action))
        self._gone = _Gone(len(text), sorted(set(refusals)))
        self.made: dict[str, Made] = {}
        self.refused: dict[str, Conflict] = {}
        """Suggestions with marks that were edited away by hand, and those that have changed since
        they were seen."""

    def take(self, names: Sequence[str]) -> int:
        """Decide as many of these as can be decided here, one after the other; gives how many.

        The one that comes next then is to be decided by `decide.decide`, in the text that these
        have left.
        """
        for at, name in enumerate(names):
            record = self._records.get(name)
            if record is None:
                continue
            known = self._comments.get(name, ())
            if name in self._tangled or any(one.record.id in self._tangled for one in known):
                return at
            change = self._read.change(record)
            if not self._marks[name]:
                self.refused[name] = no_marks()
            elif changed := self._changed(name, change):
                self.refused[name] = changed
            elif made := self._decided(record, self._marks[name], change):
                self.made[name] = made
            else:
                return at
        return len(names)

    def _changed(self, name: str, change: tuple[str, str]) -> ProposalChanged | None:
        try:
            self._verdict.check_seen(name, *change)
        except ProposalChanged as error:
            return error
        return None

    def _suggestions(self, record: Recorded) -> list[Mark]:
        held = critic.all_held(self._text, record.spans)
        return [mark for mark in held if mark.kind in critic.SUGGESTIONS]

    def _decided(
        self, record: Recorded, marks: Sequence[Mark], change: tuple[str, str]
    ) -> Made | None:
        """None where a delimiter may come of it, which `decide` looks at more closely."""
        said = self._comments.get(record.id, ())
        marks = [*marks, *(one.mark for one in said)]
        pieces = [span for mark in in_order(marks) for span in refused(mark, self._action)]
        cuts = self._joined(span for span in pieces if span[0] < span[1])
        if self._makes_delimiter(cuts):
            return None
        places = [self._gone.place(cut[0][0]) for cut in cuts]
        self._gone.add(piece for cut in cuts for piece in cut)
        made, gone = [], 0
        beside = []
        for place, cut in zip(places, cuts, strict=True):
            removed = "".join(self._text[start:end] for start, end in cut)
            made.append(Cut(place - gone, removed))
            gone += len(removed)
            beside.append((self._gone.before(cut[0][0]), self._gone.behind(cut[-1][1])))
        edges = _Edges(cuts)
        ends = tuple((edges.at(mark.start), edges.behind(mark.end)) for mark in marks)
        return Made(
            cuts=tuple(made),
            beside=tuple(beside),
            marks=ends,
            change=change,
            comments=tuple(said),
        )

    def _makes_delimiter(self, cuts: Sequence[Sequence[Span]]) -> bool:
        """Whether one reaches over a place where something is cut out."""
        kept = [self._before(cuts[0][0][0])]
        kept += [self._left_of(one[-1][1], other[0][0]) for one, other in pairwise(cuts)]
        kept.append(self._behind(cuts[-1][-1][1]))
        return any(over("".join(kept[:at]), "".join(kept[at:])) for at in range(1, len(kept)))

    def _before(self, place: int) -> str:
        """The last few characters that are left before a place."""
        found = ""
        while len(found) < WIDTH - 1 and (at := self._gone.before(place)) is not None:
            found, place = self._text[at] + found, at
        return found

    def _behind(self, place: int) -> str:
        """The first few characters that are left from a place on."""
        found = ""
        while len(found) < WIDTH - 1 and (at := self._gone.behind(place)) is not None:
            found, place = found + self._text[at], at + 1
        return found

    def _left_of(self, start: int, end: int) -> str:
        """What is left between two places, as far as a delimiter at either end can reach."""
        first = last = ""
        while len(first) < WIDTH - 1 and (at := self._gone.behind(start)) is not None and at < end:
            first, start = first + self._text[at], at + 1
        while len(last) < WIDTH - 1 and (at := self._gone.before(end)) is not None and at >= start:
            last, end = self._text[at] + last, at
        return first + last

    def _joined(self, pieces: Iterable[Span]) -> list[list[Span]]:
        """Pieces between which nothing is left are one cut."""
        cuts: list[list[Span]] = []
        for piece in pieces:
            if cuts and self._gone.place(piece[0]) == self._gone.place(cuts[-1][-1][1]):
                cuts[-1].append(piece)
            else:
                cuts.append([piece])
        return cuts

    @property
    def splices(self) -> tuple[TextSplice, ...]:
        """What carries all of it out."""
        return tuple(TextSplice(start, end) for start, end in self._gone.spans())


class _Edges:
    """Finds characters in what cuts removed."""

    def __init__(self, cuts: Sequence[Sequence[Span]]) -> None:
        self._starts: list[int] = []
        self._edges: list[Edge] = []
        for number, cut in enumerate(cuts):
            sizes = accumulate((end - start for start, end in cut), initial=0)
            for (start, _), before in zip(cut, sizes, strict=False):
                self._starts.append(start)
                self._edges.append((number, before))

    def at(self, place: int) -> Edge:
        """The cut a character was part of; a mark's first and last character always are of one."""
        index = bisect_right(self._starts, place) - 1
        number, before = self._edges[index]
        return number, before + place - self._starts[index]

    def behind(self, place: int) -> Edge:
        number, character = self.at(place - 1)
        return number, character + 1


class _Gone:
    """What was deleted from a text, as stretches that do not touch each other."""

    def __init__(self, length: int, beginnings: Sequence[int]) -> None:
        """`beginnings` are all places where a stretch that is to be deleted can begin, sorted."""
        self._length = length
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._beginnings = beginnings
        self._sums = [0] * (len(beginnings) + 1)
        """How much was deleted, as a Fenwick tree over these places."""

    def add(self, spans: Iterable[Span]) -> None:
        """Delete more; nothing that is gone already."""
        for start, end in spans:
            self._count(start, end - start)
            at = bisect_left(self._starts, start)
            touches_left = at > 0 and self._ends[at - 1] == start
            touches_right = at < len(self._starts) and self._starts[at] == end
            if touches_left and touches_right:
                self._ends[at - 1] = self._ends.pop(at)
                self._starts.pop(at)
            elif touches_left:
                self._ends[at - 1] = end
            elif touches_right:
                self._starts[at] = start
            else:
                self._starts.insert(at, start)
                self._ends.insert(at, end)

    def _count(self, start: int, size: int) -> None:
        at = bisect_left(self._beginnings, start) + 1
        while at < len(self._sums):
            self._sums[at] += size
            at += at & -at

    def place(self, place: int) -> int:
        """Where a place of the text, in no stretch that was deleted, is in what is left."""
        at, gone = bisect_left(self._beginnings, place), 0
        while at:
            gone += self._sums[at]
            at &= at - 1
        return place - gone

    def before(self, place: int) -> int | None:
        """The last character before a place that is left."""
        at = bisect_left(self._starts, place) - 1
        last = self._starts[at] if at >= 0 and self._ends[at] >= place else place
        return last - 1 if last > 0 else None

    def behind(self, place: int) -> int | None:
        """The first character from a place on that is left."""
        at = bisect_right(self._starts, place) - 1
        first = max(self._ends[at], place) if at >= 0 else place
        return first if first < self._length else None

    def spans(self) -> Iterable[Span]:
        return zip(self._starts, self._ends, strict=True)


def _tangled(records: Iterable[Recorded]) -> Mapping[str, None]:
    """The records with a span that shares a character with another span."""
    found: dict[str, None] = {}
    last, owner = 0, ""
    for start, end, name in sorted(
        (start, end, record.id) for record in records for start, end in record.spans
    ):
        if start < last:
            found |= dict.fromkeys((owner, name))
        if end > last:
            last, owner = end, name
    return found
