"""Reads CriticMarkup: which marks a text holds, and what it says with and without them.

    {++new++}   insertion      {--old--}   deletion      {~~old~>new~~}   substitution
    {>>text<<}  comment        {==text==}  highlight

The standard defines neither nesting, nor escapes, nor code. Here:

- A mark that a record holds is a mark wherever it is, code included, and ends where its record
  says: what a person typed into it, a closer even, is its text. Records that overlap, or whose
  span no longer reads as a mark, hold nothing.
- Any other mark begins outside the literal zones (`literal.py`), ends at the first closer of its
  kind, at most `limits.MARK_CHARS` further on, and never reaches over a recorded one. Without a
  closer, or a substitution without `~>`, it is text.
- Marks never nest: an opener inside a mark is text.
- The text without the recorded suggestions decides whether a place is literal. So a suggestion that
  adds or removes a fence does not turn other people's marks into text, or text into marks.
- A mark's text may begin with Obsidian Commentator's metadata, `{"author":"Ann","time":1}@@`, which
  no view shows.

Any text can be read, in time linear in its length. Offsets are in code points.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple, Protocol

from flashgrep import limits
from flashgrep.notes.markup import literal

# ── views ────────────────────────────────────────────────────────────────────────────────────────
# A view of a text with marks: what it says without some of its pieces, and how offsets translate.
#
# Between two characters of a view the text itself may hold a gap: delimiters, rejected text, a
# comment. An offset there has several places in the text, and which one is meant depends on its
# use:
#
#     text      ab{--cd--}{++xy++}ef          view (accepted)   abxyef
#     start_of(2) = 13    the character at 2: where a span begins that starts with it
#     end_of(2)   = 2     after the character before 2: where a span ends that ends with it
#     point(2)    = 2     where text is put that belongs to neither: outside every mark
#
# So `start_of(a), end_of(b)` hugs the characters from a to b: marks that only touch them stay
# outside. A point goes to the left of a gap, where a person's cursor after the last character is,
# but after comments, which speak about the text before them. In the other direction every place of
# a gap is the one offset it closes to, so `to_view` undoes all three.


class Piece(NamedTuple):
    """A stretch of the text and the views that show it."""

    start: int
    end: int
    in_base: bool
    in_accepted: bool


class Marked(Protocol):
    """What a view needs to know of a mark."""

    @property
    def span(self) -> tuple[int, int]:
        """Where it is."""

    @property
    def kind(self) -> str:
        """What it is; a comment belongs to the text before it."""


class MarkupView:
    """The pieces of a text that are shown, joined."""

    def __init__(self, text: str, pieces: Iterable[Piece], marks: Sequence[Marked]) -> None:
        self._raw_length = len(text)
        self._marks = marks
        self._raw: list[int] = []
        """Where each shown piece starts in the text…"""
        self._shown: list[int] = []
        """…where in the view…"""
        self._sizes: list[int] = []
        """…and how long it is; none is empty, and none touches the one before in the text."""
        self.text = self._join(text, pieces)

    def _join(self, text: str, pieces: Iterable[Piece]) -> str:
        parts: list[str] = []
        length = 0
        for piece in pieces:
            size = piece.end - piece.start
            if not size:
                continue
            if self._raw and self._raw[-1] + self._sizes[-1] == piece.start:
                self._sizes[-1] += size
            else:
                self._raw.append(piece.start)
                self._shown.append(length)
                self._sizes.append(size)
            parts.append(text[piece.start : piece.end])
            length += size
        return "".join(parts)

    def start_of(self, offset: int) -> int:
        """Where the character at an offset is in the text; its end for the view's end."""
        if offset >= len(self.text):
            return self._raw_length
        index = bisect_right(self._shown, max(offset, 0)) - 1
        return self._raw[index] + max(offset, 0) - self._shown[index]

    def end_of(self, offset: int) -> int:
        """The place after the character before an offset; 0 for the view's beginning."""
        if offset <= 0 or not self._shown:
            return 0
        offset = min(offset, len(self.text))
        index = bisect_left(self._shown, offset) - 1
        return self._raw[index] + offset - self._shown[index]

    def point(self, offset: int) -> int:
        """Where text put at an offset goes: outside the marks of a gap, after its comments."""
        place, last = self.end_of(offset), self.start_of(offset)
        index = bisect_right(self._marks, place, key=lambda mark: mark.span[1])
        for mark in self._marks[index:]:
            start, end = mark.span
            if end > last or (start >= place and mark.kind != "comment"):
                break
            place = end
        return place

    def to_view(self, place: int) -> int:
        """The offset of a place of the text; inside a gap, the one it closes to."""
        index = bisect_right(self._raw, place) - 1
        if index < 0:
            return 0
        return self._shown[index] + min(place - self._raw[index], self._sizes[index])

    def line(self, offset: int) -> int:
        """The number of the line of an offset."""
        return self.text.count("\n", 0, max(offset, 0)) + 1

    def spans(self, start: int, end: int) -> list[tuple[int, int]]:
        """The pieces of the text between two of its places that this view shows."""
        found = []
        index = max(bisect_right(self._raw, start) - 1, 0)
        while index < len(self._raw) and self._raw[index] < end:
            first = max(self._raw[index], start)
            last = min(self._raw[index] + self._sizes[index], end)
            if first < last:
                found.append((first, last))
            index += 1
        return found


# ── critic ───────────────────────────────────────────────────────────────────────────────────────


Span = tuple[int, int]


class MarkKind(StrEnum):
    """What a mark says about its text."""

    INSERTION = "insertion"
    DELETION = "deletion"
    SUBSTITUTION = "substitution"
    COMMENT = "comment"
    HIGHLIGHT = "highlight"


class Delimiters(NamedTuple):
    """What is before and after a mark's text."""

    opener: str
    closer: str


DELIMITERS: Final = {
    MarkKind.INSERTION: Delimiters("{++", "++}"),
    MarkKind.DELETION: Delimiters("{--", "--}"),
    MarkKind.SUBSTITUTION: Delimiters("{~~", "~~}"),
    MarkKind.COMMENT: Delimiters("{>>", "<<}"),
    MarkKind.HIGHLIGHT: Delimiters("{==", "==}"),
}
WIDTH: Final = 3
"""Every opener and every closer is this long."""
ARROW: Final = "~>"

SUGGESTIONS: Final = frozenset({MarkKind.INSERTION, MarkKind.DELETION, MarkKind.SUBSTITUTION})
"""The kinds that can be accepted or rejected."""
RECORDED: Final = SUGGESTIONS | {MarkKind.COMMENT}
"""The kinds that have records of their own; a highlight belongs to the comment on it."""

_KINDS: Final = {delimiters.opener: kind for kind, delimiters in DELIMITERS.items()}
_OPENER: Final = re.compile(r"\{(?:\+\+|--|~~|>>|==)")
_TOKEN: Final = re.compile(r"\{(?:\+\+|--|~~|>>|==)|(?:\+\+|--|~~|<<|==)\}")
_METADATA: Final = re.compile(r'\{(?:[^{}"\n]|"(?:[^"\\\n]|\\[^\n])*")*\}@@')
_METADATA_KEYS: Final = frozenset(
    ("author", "time", "timestamp", "done", "style", "color", "id", "a", "t", "d", "s", "c")
)
"""Commentator's keys and their short forms, and those of programs that write alike."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark: where it is in the text, and where its own text is."""

    kind: MarkKind
    start: int
    end: int
    body: int
    """Where its text begins, after the opener and metadata."""
    arrow: int = -1
    """Where a substitution's `~>` is."""
    is_recorded: bool = False

    @property
    def span(self) -> Span:
        """Where it is, delimiters included."""
        return self.start, self.end

    @property
    def old(self) -> Span:
        """Where the text is that accepting the mark removes; empty if none."""
        if self.kind is MarkKind.DELETION:
            return self.body, self.end - WIDTH
        return (
            (self.body, self.arrow)
            if self.kind is MarkKind.SUBSTITUTION
            else (self.body, self.body)
        )

    @property
    def new(self) -> Span:
        """Where the text is that rejecting the mark removes; empty if none."""
        if self.kind is MarkKind.INSERTION:
            return self.body, self.end - WIDTH
        if self.kind is MarkKind.SUBSTITUTION:
            return self.arrow + len(ARROW), self.end - WIDTH
        return self.body, self.body

    def shown(self) -> list[Piece]:
        """The pieces of it that a view shows, from left to right."""
        if self.kind is MarkKind.HIGHLIGHT:
            return [Piece(self.body, self.end - WIDTH, in_base=True, in_accepted=True)]
        return [
            Piece(*self.old, in_base=True, in_accepted=False),
            Piece(*self.new, in_base=False, in_accepted=True),
        ]


class ParsedMarkup:
    """A text with its marks, and its three views."""

    def __init__(self, text: str, marks: Sequence[Mark]) -> None:
        self.text = text
        self.marks = tuple(marks)

    @cached_property
    def base(self) -> MarkupView:
        """The text as if every suggestion were rejected, without comments."""
        return MarkupView(
            self.text, (piece for piece in self._pieces() if piece.in_base), self.marks
        )

    @cached_property
    def accepted(self) -> MarkupView:
        """The text as if every suggestion were accepted, without comments: what `read` shows."""
        return MarkupView(
            self.text, (piece for piece in self._pieces() if piece.in_accepted), self.marks
        )

    @cached_property
    def raw(self) -> MarkupView:
        """The text as it is."""
        return MarkupView(
            self.text, [Piece(start=0, end=len(self.text), in_base=True, in_accepted=True)], ()
        )

    def _pieces(self) -> Iterator[Piece]:
        at = 0
        for mark in self.marks:
            yield Piece(start=at, end=mark.start, in_base=True, in_accepted=True)
            yield from mark.shown()
            at = mark.end
        yield Piece(start=at, end=len(self.text), in_base=True, in_accepted=True)


_KEPT_TEXTS: Final = 4
_KEPT_CHARS: Final = 256 * limits.KIB
"""The last few texts that were read, none longer than this, are not read again: an edit asks for
the note before it, which is the note after the last one, and for the note after it, twice each."""


def read(text: str, recorded: Iterable[Span] = ()) -> ParsedMarkup:
    """Read a text, with the spans that records hold as marks."""
    if len(text) > _KEPT_CHARS:
        return _read(text, tuple(recorded))
    return _read_once(text, tuple(recorded))


def _read(text: str, recorded: tuple[Span, ...]) -> ParsedMarkup:
    return ParsedMarkup(text, list(_MarkupScan(text, all_held(text, recorded)).marks()))


_read_once = lru_cache(maxsize=_KEPT_TEXTS)(_read)


def literal_places(text: str, places: Iterable[int], recorded: Iterable[Span]) -> set[int]:
    """Those of the places that are in code or the like, and outside all recorded spans."""
    return set(_MarkupScan(text, all_held(text, recorded)).in_zones(sorted(places)))


def held(text: str, span: Span) -> Mark | None:
    """The mark a record's span holds; None where it no longer reads as one."""
    start, end = span
    kind = _KINDS.get(text[start : start + WIDTH]) if start >= 0 else None
    if kind is None or end - start < 2 * WIDTH or end > len(text):
        return None
    if text[end - WIDTH : end] != DELIMITERS[kind].closer:
        return None
    return _mark(text, kind, start, end, is_recorded=True)


def all_held(text: str, spans: Iterable[Span]) -> list[Mark]:
    """The marks that records hold, from left to right; of two that overlap the left one."""
    marks: list[Mark] = []
    for span in sorted(spans):
        mark = held(text, span)
        if mark and (not marks or marks[-1].end <= mark.start):
            marks.append(mark)
    return marks


def token(text: str) -> str | None:
    """The first opener or closer in a text."""
    found = _TOKEN.search(text)
    return found[0] if found else None


def count_openers(text: str) -> int:
    """How many marks a text can have at most."""
    return sum(text.count(delimiters.opener) for delimiters in DELIMITERS.values())


def metadata(text: str, mark: Mark) -> dict[str, Any]:
    """What Commentator's prefix says about a mark; empty without one."""
    described = text[mark.start + WIDTH : mark.body].removesuffix("@@")
    return _described(described) or {}


def suggestions(marks: Iterable[Mark]) -> list[tuple[Mark, ...]]:
    """The marks that can be decided, a deletion together with the insertion that touches it."""
    found: list[tuple[Mark, ...]] = []
    for mark in marks:
        if mark.kind not in SUGGESTIONS:
            continue
        last = found[-1][-1] if found and len(found[-1]) == 1 else None
        is_pair = last and last.kind is MarkKind.DELETION and mark.kind is MarkKind.INSERTION
        if last and is_pair and last.end == mark.start and last.is_recorded == mark.is_recorded:
            found[-1] = (last, mark)
        else:
            found.append((mark,))
    return found


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


def _mark(text: str, kind: MarkKind, start: int, end: int, is_recorded: bool) -> Mark | None:
    """A mark whose two ends are known; None for a substitution without its arrow."""
    body = _body(text, start + WIDTH, end - WIDTH)
    if kind is not MarkKind.SUBSTITUTION:
        return Mark(kind=kind, start=start, end=end, body=body, is_recorded=is_recorded)
    arrow = text.find(ARROW, body, end - WIDTH)
    return (
        Mark(kind=kind, start=start, end=end, body=body, arrow=arrow, is_recorded=is_recorded)
        if arrow >= 0
        else None
    )


def _body(text: str, start: int, end: int) -> int:
    """Where a mark's text begins: after its metadata, if it has any."""
    found = _METADATA.match(text, start, min(end, start + limits.METADATA_CHARS))
    if found and _described(found[0].removesuffix("@@")):
        return found.end()
    return start


def _described(source: str) -> dict[str, Any] | None:
    """Metadata read from JSON; None where it is none, `{}` of a template for one."""
    try:
        value = json.loads(source, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _METADATA_KEYS.intersection(value) else None


def _refuse(constant: str) -> None:
    """JSON knows no NaN, and the page's reader would not take it."""
    raise ValueError(constant)


class _MarkupScan:
    """The search for marks between the recorded ones."""

    def __init__(self, text: str, recorded: list[Mark]) -> None:
        self._text = text
        self._recorded = recorded

    def marks(self) -> Iterator[Mark]:
        """All marks from left to right."""
        at = shift = 0
        for mark in self._recorded:
            yield from self._between(at, mark.start, shift)
            yield mark
            shift += _shift(mark)
            at = mark.end
        yield from self._between(at, len(self._text), shift)

    def in_zones(self, places: Sequence[int]) -> Iterator[int]:
        """Those of the places, from left to right, that are literal."""
        at = shift = 0
        for place in places:
            while at < len(self._recorded) and self._recorded[at].end <= place:
                shift += _shift(self._recorded[at])
                at += 1
            is_between = at == len(self._recorded) or place < self._recorded[at].start
            if is_between and self._is_literal(place + shift):
                yield place

    @cached_property
    def _zones(self) -> list[literal.Zone]:
        """The literal zones of the text without the recorded suggestions; last one first."""
        pieces, at = [], 0
        for mark in self._recorded:
            pieces.append(self._text[at : mark.start])
            pieces += [self._text[start:end] for start, end in _base_spans(mark)]
            at = mark.end
        return literal.zones("".join([*pieces, self._text[at:]]))[::-1]

    def _between(self, at: int, end: int, shift: int) -> Iterator[Mark]:
        """The marks in a stretch without recorded ones, which is `shift` off in the zones."""
        ahead: dict[str, int] = {}
        while opener := _OPENER.search(self._text, at, end):
            at = opener.end()
            if self._is_literal(opener.start() + shift):
                continue
            mark = self._closed(opener, end, ahead)
            if mark:
                yield mark
                at = mark.end

    def _is_literal(self, place: int) -> bool:
        while self._zones and self._zones[-1].end <= place:
            self._zones.pop()
        return bool(self._zones) and self._zones[-1].start <= place

    def _closed(self, opener: re.Match[str], end: int, ahead: dict[str, int]) -> Mark | None:
        """The mark an opener begins, if it ends in this stretch."""
        kind, start = _KINDS[opener[0]], opener.end()
        close = self._next(DELIMITERS[kind].closer, start, end, ahead)
        if close + WIDTH > end or close - start > limits.MARK_CHARS:
            return None
        if kind is MarkKind.SUBSTITUTION and self._next(ARROW, start, end, ahead) >= close:
            return None
        return _mark(self._text, kind, opener.start(), close + WIDTH, is_recorded=False)

    def _next(self, wanted: str, start: int, end: int, ahead: dict[str, int]) -> int:
        """Where a delimiter is next; searched for once, however many openers wait for it."""
        if ahead.get(wanted, -1) < start:
            found = self._text.find(wanted, start, end)
            ahead[wanted] = found if found >= 0 else end
        return ahead[wanted]


def _shift(mark: Mark) -> int:
    """How much longer the text is in its place without the suggestion; negative where shorter."""
    return sum(end - start for start, end in _base_spans(mark)) - (mark.end - mark.start)


def _base_spans(mark: Mark) -> list[Span]:
    return [(piece.start, piece.end) for piece in mark.shown() if piece.in_base]
