"""Accepting and rejecting: only delimiters and refused text are deleted, never anything retyped.

What stays keeps its characters, so it stays its writer's, and what people type in it at that
moment stays too. A decision can be undone from what it says was cut out: an entry of the log is
`Decision.cuts` and `Decision.marks`, both plain tuples.

    text        see {--old--}{++new++}!           accept: see new!
    cuts        (4, "{--old--}{++"), (7, "++}")   places in the text afterwards
    marks       ((0, 0), (0, 9)), ((0, 9), (1, 3))   from which cut and character, to which
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from flashgrep.errors import Conflict
from flashgrep.notes.document.splices import Splice, spliced
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import Mark, Span


class Action(StrEnum):
    """What becomes of a suggestion."""

    ACCEPT = "accept"
    REJECT = "reject"


class Cut(NamedTuple):
    """What was deleted, and where, counted in the text afterwards."""

    at: int
    removed: str


Edge = tuple[int, int]
"""A cut's number and a character in what it removed."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What carries out a decision, and what undoes it."""

    splices: tuple[Splice, ...]
    """Deletions only, from left to right."""
    text: str
    cuts: tuple[Cut, ...]
    marks: tuple[tuple[Edge, Edge], ...]
    """Where each mark that went away began and ended."""


@dataclass(frozen=True, slots=True)
class Restoration:
    """What brings a decided suggestion back."""

    splices: tuple[Splice, ...]
    """Insertions only, from left to right."""
    text: str
    spans: tuple[Span, ...]
    """Where its marks stand in that text, for its record."""


def decide(
    text: str, spans: Iterable[Span], action: Action, others: Iterable[Span] = ()
) -> Decision:
    """Decide the marks a record holds; refused where none of its spans is a mark any more.

    `others` are the spans of all other records. Where people edited delimiters, one may reach into
    another; then what reads as a mark is decided, and nothing that stands in somebody else's.
    """
    own = set(spans)
    held = critic.all_held(text, own.union(others))
    marks = [mark for mark in held if mark.span in own and mark.kind in critic.SUGGESTIONS]
    if not marks:
        raise no_marks()
    return _decision(text, marks, action)


def no_marks() -> Conflict:
    """The refusal of a suggestion that stands nowhere any more."""
    return Conflict(
        "the marks of this suggestion are gone: somebody has edited them away by hand; "
        "read the note again"
    )


def decide_all(text: str, recorded: Iterable[Span], action: Action) -> Decision:
    """Decide every suggestion of a text, recorded or typed; comments and highlights stay."""
    marks = critic.read(text, recorded).marks
    return _decision(text, [mark for mark in marks if mark.kind in critic.SUGGESTIONS], action)


def undo(text: str, cuts: Sequence[Cut], marks: Sequence[tuple[Edge, Edge]]) -> Restoration:
    """Put back what a decision cut out.

    `cuts` are those of the decision, moved by the caller to where they belong in the text as it is
    now. Refused where they no longer fit: what would come back must be marks again.
    """
    places = [cut.at for cut in cuts]
    if places != sorted(places) or not all(0 <= place <= len(text) for place in places):
        raise _gone()
    starts, grown = [], 0
    for cut in cuts:
        starts.append(cut.at + grown)
        grown += len(cut.removed)
    spans = tuple((starts[a] + i, starts[b] + j) for (a, i), (b, j) in marks)
    splices = tuple(Splice(cut.at, cut.at, cut.removed) for cut in cuts)
    restored = spliced(text, splices)
    if not all(critic.held(restored, span) for span in spans):
        raise _gone()
    return Restoration(splices, restored, spans)


def _gone() -> Conflict:
    return Conflict(
        "the text this suggestion stood in has changed too much to bring it back; "
        "restore an earlier version of the note instead"
    )


def _decision(text: str, marks: Sequence[Mark], action: Action) -> Decision:
    spans = _joined(span for mark in marks for span in refused(mark, action))
    cuts, gone = [], 0
    for start, end in spans:
        cuts.append(Cut(start - gone, text[start:end]))
        gone += end - start
    splices = tuple(Splice(start, end) for start, end in spans)
    edges = tuple((_edge(spans, mark.start), _behind(spans, mark.end)) for mark in marks)
    return Decision(splices=splices, text=spliced(text, splices), cuts=tuple(cuts), marks=edges)


def refused(mark: Mark, action: Action) -> list[Span]:
    """What of a mark goes away: all that the chosen view does not show."""
    spans, at = [], mark.start
    for piece in mark.shown():
        if piece.in_accepted if action is Action.ACCEPT else piece.in_base:
            spans.append((at, piece.start))
            at = piece.end
    return [*spans, (at, mark.end)]


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
