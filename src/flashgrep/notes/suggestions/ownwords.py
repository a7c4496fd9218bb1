"""Whether an edit of one's own suggestion deletes nothing but one's own words.

An author may rewrite a pending suggestion as often as it takes. People read it meanwhile, and type
in it: their words are not the author's to delete. The edit is refused where one of the characters
that it deletes was written by anybody else. Delimiters do not count: they hold nobody's words, and
somebody who undoes a decision puts them back.

The authors of characters in notes of an older flashgrep are not known. There, a character in a mark
is taken for the author's if it was sent by the client that sent the mark's opener: our own, which
people cannot type with.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from flashgrep.notes.access.author import Author
from flashgrep.notes.document.anchors import Anchor
from flashgrep.notes.document.splices import Splice
from flashgrep.notes.markup.critic import ARROW, WIDTH, Kind, Mark, Span
from flashgrep.notes.suggestions import refusals
from flashgrep.notes.suggestions.refusals import Words
from flashgrep.notes.suggestions.suggestion import Pending

Writers = Callable[[int, int], Sequence[tuple[Anchor, Author | None]]]
"""The characters of a stretch of the text, and who wrote each; None if nobody knows."""


def check_own(
    note: Pending, splices: Sequence[Splice], author: Author, writers: Writers, words: Words
) -> None:
    """Refuse splices that delete what somebody else wrote."""
    openers = _Openers(note, writers)
    for splice in splices:
        for start, end in _texts(note, splice.start, splice.end):
            for place, (anchor, writer) in enumerate(writers(start, end), start):
                is_own = writer.is_same(author) if writer else openers.sent(place, anchor)
                if not is_own:
                    raise refusals.not_own(note, place, writer, words)


def _texts(note: Pending, start: int, end: int) -> Iterator[Span]:
    """A stretch of the text without the delimiters of its marks."""
    at = start
    for mark in note.touching(start, end) if end > start else ():
        for first, last in _delimiters(mark):
            if at < min(first, end):
                yield at, min(first, end)
            at = max(at, last)
    if at < end:
        yield at, end


def _delimiters(mark: Mark) -> Iterator[Span]:
    yield mark.start, mark.start + WIDTH
    if mark.kind is Kind.SUBSTITUTION:
        yield mark.arrow, mark.arrow + len(ARROW)
    yield mark.end - WIDTH, mark.end


class _Openers:
    """Which client sent the opener of each mark; looked up once a mark."""

    def __init__(self, note: Pending, writers: Writers) -> None:
        self._marks = note.reading.marks
        self._writers = writers
        self._clients: dict[int, int] = {}

    def sent(self, place: int, anchor: Anchor) -> bool:
        """Whether a character in a mark came from the client that sent the mark's opener."""
        at = bisect_right(self._marks, place, key=lambda mark: mark.start) - 1
        if at < 0 or self._marks[at].end <= place:
            return False
        if at not in self._clients:
            start = self._marks[at].start
            ((opener, _),) = self._writers(start, start + 1)
            self._clients[at] = opener.client
        return self._clients[at] == anchor.client
