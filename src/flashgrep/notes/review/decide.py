"""Accepts and rejects a suggestion of a note; `deciding_many` does so with many at once.

Text that stays keeps its characters, so it remains its writer's, and what people are typing in it
stays too. A decision can be undone from what it says was cut out: an entry of the log is
`Decision.cuts` and `Decision.marks`, both plain tuples.

    text        see {--old--}{++new++}!           accept: see new!
    cuts        (4, "{--old--}{++"), (7, "++}")   places in the text afterwards
    marks       ((0, 0), (0, 9)), ((0, 9), (1, 3))   from which cut and character, to which

Whoever accepts a suggestion may replace the text it inserts. As little as possible is rewritten:
what both texts share remains its writer's. The cuts then also hold what was taken out of the
proposed text, and `Decision.put` says what was put in:

    text        see {--old--}{++new++}!           accept as "newer": see newer!
    cuts        (4, "{--old--}{++"), (7, "++}")
    put         (7, 9)                            where it is in the text afterwards
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from flashgrep.errors import Conflict, InvalidParams
from flashgrep.notes.document.text import (
    Push,
    TextSplice,
    between,
    growth,
    spliced,
)
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import WIDTH, Mark, MarkKind, ParsedMarkup, Span
from flashgrep.notes.markup.seams import joined, over
from flashgrep.notes.review.verdict import Action


class MakesMark(Conflict):
    """What is left of the text would be a mark that nobody made."""


class Cut(NamedTuple):
    """What was deleted, and where, counted in the text afterwards."""

    at: int
    removed: str


Edge = tuple[int, int]
"""A cut's number and a character in what it removed."""


@dataclass(frozen=True, slots=True)
class Decision:
    """How to carry out a decision, and how to undo it."""

    splices: tuple[TextSplice, ...]
    """From left to right; deletions only, unless the text was edited."""
    text: str
    cuts: tuple[Cut, ...]
    marks: tuple[tuple[Edge, Edge], ...]
    """Where each mark that went away began and ended: those of the suggestion, then those of the
    comments on it."""
    put: tuple[Span, ...] = ()
    """Where in that text is what was put in."""
    is_edited: bool = False
    """Another text was accepted than the one proposed."""


@dataclass(frozen=True, slots=True)
class Restoration:
    """How to bring a decided suggestion back."""

    splices: tuple[TextSplice, ...]
    """From left to right; insertions only, unless the text was edited."""
    text: str
    spans: tuple[Span, ...]
    """Where its marks are in that text, for its record."""


def decide(
    text: str,
    spans: Iterable[Span],
    action: Action,
    others: Iterable[Span] = (),
    comments: Sequence[Mark] = (),
) -> Decision:
    """Decide the marks a record holds; refused if none of its spans is still a mark. `others` are
    the spans of all other records. If people edited delimiters, one may reach into another; then
    what reads as a mark is decided, and nothing inside somebody else's. `comments` are the marks of
    those on the suggestion, which leave the text with it.
    """
    others = set(others)
    marks = marks_of(text, spans, others)
    decision = _decision(text, marks, action, comments)
    _check_seams(decision, others - {mark.span for mark in (*marks, *comments)})
    return decision


def _check_seams(decision: Decision, others: Iterable[Span]) -> None:
    """Refuse what makes a mark, which nobody made, of texts that were apart."""
    text = decision.text
    seams = [cut.at for cut in decision.cuts if over(text[: cut.at], text[cut.at :])]
    if not seams:
        return
    for mark in critic.read(text, Push(decision.splices).spans(others)).marks:
        for start in () if mark.is_recorded else (mark.start, mark.end - WIDTH):
            if any(start < seam < start + WIDTH for seam in seams):
                raise MakesMark(
                    f"this would join separate texts into {text[start : start + WIDTH]} and so "
                    "create a mark that nobody made; edit the note there first"
                )


def accept_as(
    text: str,
    spans: Iterable[Span],
    wanted: str,
    others: Iterable[Span],
    comments: Sequence[Mark] = (),
) -> Decision:
    """Accept the marks a record holds, with another text instead of what they insert. A suggestion
    that only deletes inserts nothing: the text goes where it deletes. Refused if the record holds
    several different insertions: nobody could say which is meant.
    """
    marks = marks_of(text, spans, others)
    brought = [mark.new for mark in marks if mark.kind is not MarkKind.DELETION]
    if len({text[start:end] for start, end in brought}) > 1:
        raise InvalidParams(
            f"this suggestion brings {len(brought)} texts that differ, and one text cannot take "
            "the place of them all; accept it as it is, or reject it and edit the note"
        )
    edits = [
        TextSplice(start + one.start, start + one.end, one.text)
        for start, end in brought
        for one in between(text[start:end], wanted)
    ]
    if not brought and wanted:
        edits = [TextSplice(marks[0].start, marks[0].start, wanted)]
    gone = [
        TextSplice(start, end)
        for mark in (*marks, *comments)
        for start, end in refused(mark, Action.ACCEPT)
        if start < end
    ]
    left = set(others) - {mark.span for mark in (*marks, *comments)}
    if not edits:
        decision = _decision(text, marks, Action.ACCEPT, comments)
        _check_seams(decision, left)
        return decision
    decision = _edited(text, [*marks, *comments], _merged([*gone, *edits]))
    _check_joined(decision, left)
    return decision


def _check_joined(decision: Decision, others: Iterable[Span]) -> None:
    """Refuse a text that becomes a delimiter together with the text beside it."""
    held = critic.all_held(decision.text, Push(decision.splices).spans(others))
    base = ParsedMarkup(decision.text, held).base  # as it is without the marks that would be new
    grown = 0
    for one in decision.splices:
        at = one.start + grown
        grown += growth(one)
        start, end = base.to_view(at), base.to_view(at + len(one.text))
        sides = base.text[max(start - WIDTH, 0) : start], base.text[end : end + WIDTH]
        if found := joined(sides[0], "\n", base.text[start:end], sides[1]):
            raise InvalidParams(
                f"text would make {found}, which begins or ends a mark, together with the text "
                "beside it; choose another text, or reject the suggestion and edit the note"
            )


def marks_of(text: str, spans: Iterable[Span], others: Iterable[Span]) -> list[Mark]:
    """The marks that are decided with a record; refused if none is left."""
    own = set(spans)
    held = critic.all_held(text, own.union(others))
    marks = [mark for mark in held if mark.span in own and mark.kind in critic.SUGGESTIONS]
    if not marks:
        raise no_marks()
    return marks


def _merged(splices: Iterable[TextSplice]) -> list[TextSplice]:
    """Splices that touch become one."""
    merged: list[TextSplice] = []
    for one in sorted(splices, key=lambda splice: (splice.start, splice.end)):
        if merged and merged[-1].end == one.start:
            last = merged.pop()
            one = TextSplice(last.start, one.end, last.text + one.text)
        merged.append(one)
    return merged


def _edited(text: str, marks: Sequence[Mark], splices: Sequence[TextSplice]) -> Decision:
    cuts, put, grown = [], [], 0
    for one in splices:
        at = one.start + grown
        if one.start < one.end:
            cuts.append(Cut(at, text[one.start : one.end]))
        if one.text:
            put.append((at, at + len(one.text)))
        grown += growth(one)
    spans = [(one.start, one.end) for one in splices if one.start < one.end]
    return Decision(
        splices=tuple(splices),
        text=spliced(text, splices),
        cuts=tuple(cuts),
        marks=tuple((_edge(spans, mark.start), _behind(spans, mark.end)) for mark in marks),
        put=tuple(put),
        is_edited=True,
    )


def no_marks() -> Conflict:
    """The refusal of a suggestion whose marks are gone."""
    return Conflict(
        "the marks of this suggestion are gone: somebody has edited them away by hand; "
        "read the note again"
    )


def undo(
    text: str,
    cuts: Sequence[Cut],
    marks: Sequence[tuple[Edge, Edge]],
    put: Sequence[Span] = (),
) -> Restoration:
    """Put back what a decision cut out, and take out what it put in.

    `cuts` are those of the decision, moved by the caller to where they belong in the text as it is
    now; `put` is what is left of what it put in, from left to right. Refused where they no longer
    fit: what would come back must be marks again.
    """
    places = [cut.at for cut in cuts]
    if places != sorted(places) or not all(0 <= place <= len(text) for place in places):
        raise _gone()
    splices = _undoing(cuts, put)
    starts, grown = [], 0
    for one in splices:
        if one.text:
            starts.append(one.start + grown)
        grown += growth(one)
    spans = tuple((starts[a] + i, starts[b] + j) for (a, i), (b, j) in marks)
    restored = spliced(text, splices)
    if not all(critic.held(restored, span) for span in spans):
        raise _gone()
    return Restoration(splices, restored, spans)


def _undoing(cuts: Sequence[Cut], put: Sequence[Span]) -> tuple[TextSplice, ...]:
    """The splices of an undo; what is to be deleted is divided where a cut comes back in it."""
    splices = [TextSplice(cut.at, cut.at, cut.removed) for cut in cuts]
    places = [cut.at for cut in cuts]
    for start, end in put:
        inside = places[bisect_right(places, start) : bisect_left(places, end)]
        splices += [TextSplice(*span) for span in pairwise([start, *dict.fromkeys(inside), end])]
    # Of cuts at one place the order stays: sorting is stable, and they come first.
    return tuple(sorted(splices, key=lambda splice: (splice.start, splice.end)))


def _gone() -> Conflict:
    return Conflict(
        "the text around this suggestion has changed too much to bring it back; "
        "restore an earlier version of the note instead"
    )


def _decision(
    text: str, marks: Sequence[Mark], action: Action, comments: Sequence[Mark] = ()
) -> Decision:
    marks = [*marks, *comments]
    spans = _joined(span for mark in in_order(marks) for span in refused(mark, action))
    cuts, gone = [], 0
    for start, end in spans:
        cuts.append(Cut(start - gone, text[start:end]))
        gone += end - start
    splices = tuple(TextSplice(start, end) for start, end in spans)
    edges = tuple((_edge(spans, mark.start), _behind(spans, mark.end)) for mark in marks)
    return Decision(splices=splices, text=spliced(text, splices), cuts=tuple(cuts), marks=edges)


def refused(mark: Mark, action: Action) -> list[Span]:
    """The parts of a mark that go away: all that the chosen view does not show."""
    spans, at = [], mark.start
    for piece in mark.shown():
        if piece.in_accepted if action is Action.ACCEPT else piece.in_base:
            spans.append((at, piece.start))
            at = piece.end
    return [*spans, (at, mark.end)]


def in_order(marks: Iterable[Mark]) -> list[Mark]:
    """Marks from left to right; a comment may be between two of the suggestion."""
    return sorted(marks, key=lambda mark: mark.start)


def _joined(spans: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _edge(spans: Sequence[Span], place: int) -> Edge:
    """The cut a character was part of; a mark's first and last character always are of one."""
    number = bisect_right(spans, place, key=lambda span: span[0]) - 1
    return number, place - spans[number][0]


def _behind(spans: Sequence[Span], place: int) -> Edge:
    number, character = _edge(spans, place - 1)
    return number, character + 1
