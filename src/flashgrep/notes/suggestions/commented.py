"""An edit inside a passage that somebody commented on opens the highlight around it.

    a {==long passage==}{>>shorter?<<}          "long" → "brief"
    a {--long--}{++brief++}{== passage==}{>>shorter?<<}

    a {==long passage==}{>>shorter?<<}          "long passage" → "word"
    a {--long passage--}{++word++}{>>shorter?<<}

Marks never nest, and an agent that is asked to change a passage must be able to. Nobody's words are
touched: what is left of the highlight stays highlighted, and the comment's record holds each part
of it. If nothing is left, the comment is on the suggestion from then on.

Only the highlight of a comment with a record is opened; one without a comment is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flashgrep.notes.document.text import Push, TextSplice, growth
from flashgrep.notes.markup.critic import DELIMITERS, WIDTH, Mark, MarkKind
from flashgrep.notes.suggestions.pending import Pending, Recorded

_OPENER, _CLOSER = DELIMITERS[MarkKind.HIGHLIGHT]


@dataclass(frozen=True, slots=True)
class OpenedPassage:
    """The highlight that an edit is in, and where it is opened."""

    mark: Mark
    record: Recorded
    """Of the comment on it."""
    start: int
    """What is rewritten: the edit's stretch, with the delimiters that have nothing left to
    delimit…"""
    end: int
    before: str
    """…and those that what is left needs."""
    after: str

    def moved(self, own: Sequence[TextSplice], every: Sequence[TextSplice]) -> Recorded:
        """The record afterwards; `own` are the splices of this stretch among `every` one."""
        grown = sum(map(growth, own))
        shift = sum(growth(splice) for splice in every if splice.end <= self.start) - sum(
            growth(splice) for splice in own if splice.end <= self.start
        )
        start, end = self.start + shift, self.end + shift + grown
        others = (span for span in self.record.spans if span != self.mark.span)
        spans = list(Push(every).spans(others))
        if self.before:
            spans.append((self.mark.start + shift, start + len(self.before)))
        if self.after:
            spans.append((end - len(self.after), self.mark.end + shift + grown))
        return replace(self.record, spans=tuple(sorted(spans)))


def opened(note: Pending, start: int, end: int) -> OpenedPassage | None:
    """The commented passage that a stretch is in or reaches into, if it touches nothing else."""
    touched = note.touching(start, end)
    if len(touched) != 1 or touched[0].kind is not MarkKind.HIGHLIGHT:
        return None
    mark = touched[0]
    record = _comment_on(note, mark)
    if record is None:
        return None
    has_left, has_right = start > mark.body, end < mark.end - WIDTH
    return OpenedPassage(
        mark=mark,
        record=record,
        start=start if has_left else min(start, mark.start),
        end=end if has_right else max(end, mark.end),
        before=_CLOSER if has_left else "",
        after=_OPENER if has_right else "",
    )


def _comment_on(note: Pending, mark: Mark) -> Recorded | None:
    """The record of the comment that follows a highlight."""
    for comment in note.touching(mark.end, mark.end + 1):
        owner = note.owner(comment)
        if comment.start == mark.end and owner and owner.is_comment:
            return owner
    return None
