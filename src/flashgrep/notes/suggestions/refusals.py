"""Why an edit of a note is not made, and the check that an agent deletes only its own words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from flashgrep import limits
from flashgrep.errors import Conflict, FlashgrepError, InvalidParams, NotUnique, StringNotFound
from flashgrep.notes.access.roles import Author
from flashgrep.notes.document.anchors import Anchor
from flashgrep.notes.document.text import TextSplice, check_characters
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import ARROW, WIDTH, Mark, MarkKind, Span
from flashgrep.notes.suggestions.pending import Pending
from flashgrep.workspace.occurrences import line_of, near, straight


@dataclass(frozen=True, slots=True)
class Words:
    """What a caller's tool calls the two strings of an edit."""

    old: str = "old_string"
    new: str = "new_string"


WORDS: Final = Words()
_SEEN: Final = 'Comments are shown by read with view "raw".'


def check(old: str, new: str, words: Words = WORDS) -> None:
    """Refuse strings that no suggestion can hold."""
    if not old:
        raise InvalidParams(f"{words.old} must not be empty")
    if old == new:
        raise no_changes(words)
    for name, value in ((words.old, old), (words.new, new)):
        try:
            check_characters(value)
        except InvalidParams as error:
            raise InvalidParams(f"{name}: {error.message}") from None
        found = critic.token(value)
        if found:
            raise InvalidParams(
                f"{name} contains {found}, which begins or ends a mark, and marks cannot nest; "
                "choose a string without it"
            )


def no_changes(words: Words) -> InvalidParams:
    """The two strings are one, or differ only in quotes that follow the note's."""
    return InvalidParams(f"No changes to make: {words.old} and {words.new} are exactly the same.")


def check_readable(old: str, new: str, words: Words) -> None:
    """Refuse a suggestion that only its record could delimit: one merged with typed-in closers."""
    found = critic.token(old) or critic.token(new)
    if found:
        raise InvalidParams(
            f"the suggestion would hold {found}, which begins or ends a mark, together with the "
            f"text around it; choose another {words.old}"
        )


def check_free(note: Pending, author: Author, start: int, end: int, words: Words) -> None:
    """Refuse a stretch that touches any mark but the author's own suggestions."""
    for mark in note.touching(start, end):
        owner = note.owner(mark)
        if owner is None or not owner.is_by(author) or mark.kind not in critic.SUGGESTIONS:
            raise _occupied(note, mark, words)


def not_own(note: Pending, place: int, writer: Author | None, words: Words) -> Conflict:
    """An edit of one's own suggestion would delete what somebody else has typed into it."""
    view = note.reading.accepted
    line = view.line(view.to_view(place))
    typist = writer.name if writer else "somebody else"
    return Conflict(
        f"{words.old} holds words that {typist} typed into your pending "
        f"suggestion at line {line}, and only a decision may remove those; keep them where they "
        "are, or wait until somebody has decided the suggestion"
    )


def not_unique(text: str, starts: Sequence[int], count: int, shown: str, words: Words) -> NotUnique:
    """The string occurs more than once in the accepted view."""
    lines = [line_of(text, start) for start in starts[: limits.LISTED_LINES]]
    more = f" and {count - len(lines)} more" if count > len(lines) > 1 else ""
    return NotUnique(
        f"{words.old} is not unique in {shown} ({count} occurrences found). Include more "
        f"surrounding context to make it unique. Lines: {', '.join(map(str, lines))}{more}. Found "
        f"{count} matches of the string to replace, but replace_all is false; set it to suggest "
        "the change at all of them."
    )


def too_many(count: int, shown: str, words: Words) -> InvalidParams:
    """More occurrences than suggestions are made of at once."""
    return InvalidParams(
        f"Found {count} occurrences of {words.old} in {shown}, and replace_all suggests at most "
        f"{limits.REPLACED_OCCURRENCES} changes at once; nothing was changed. Include more "
        "surrounding context, so that fewer match, and edit the note part by part."
    )


def not_found(note: Pending, old: str, shown: str, words: Words) -> FlashgrepError:
    """The string does not occur in the accepted view: perhaps in a mark, perhaps nearly."""
    for mark in note.reading.marks:
        if mark.kind is MarkKind.COMMENT and old in _text(
            note, (mark.body, mark.end - critic.WIDTH)
        ):
            return InvalidParams(
                f"{words.old} occurs only inside a comment, {_comment(note, mark)} of "
                f"{shown}, and comments are not edited; choose text of the note itself. {_SEEN}"
            )
    hint = _deleted(note, old) or near(note.reading.accepted.text, old)
    return StringNotFound(
        f"{words.old} not found in {shown}. Make sure it matches exactly. String to replace not "
        f"found in file.\nString: {limits.shortened(old)}\n{hint}".rstrip()
    )


def several_in_passage() -> InvalidParams:
    """Several occurrences are in one passage that somebody commented on."""
    return InvalidParams(
        "several occurrences are in one passage with a comment on it; edit them one after the "
        "other, or the passage as a whole"
    )


def does_not_read_back(line: int, words: Words) -> InvalidParams:
    """The marks would mean something else than the edit."""
    return InvalidParams(
        f"the suggestion at line {line} would not read back as this edit, because of the marks, "
        "braces or metadata in or beside it; choose a longer or a shorter "
        f"{words.old}"
    )


def joins(found: str, line: int, words: Words) -> InvalidParams:
    """The text and what is beside it would be a delimiter."""
    return InvalidParams(
        f"the change at line {line} would make {found}, which begins or ends a mark, together with "
        f"the text beside it; choose a longer {words.old}, or another {words.new}"
    )


def _deleted(note: Pending, old: str) -> str:
    """A sentence about a pending suggestion that takes the string away."""
    wanted = straight(old)
    for mark in note.reading.marks:
        if wanted in straight(_text(note, mark.old)):
            return (
                f"It is in text that {_whose(note, mark)} deletes, at line "
                f"{_line(note, mark)}; edit what the note says without it."
            )
    return ""


def _occupied(note: Pending, mark: Mark, words: Words) -> FlashgrepError:
    line = _line(note, mark)
    if mark.kind is MarkKind.COMMENT:
        return InvalidParams(
            f"a comment is inside {words.old}, {_comment(note, mark)}, and would be lost; "
            f"choose text before or after it. {_SEEN}"
        )
    if mark.kind is MarkKind.HIGHLIGHT:
        return InvalidParams(
            f"{words.old} overlaps a highlighted text at line {line}, and marks cannot nest; "
            "choose text outside it"
        )
    return Conflict(
        f"{words.old} overlaps {_whose(note, mark)} at line {line}; choose text outside it, "
        "or wait until somebody has decided it"
    )


def _comment(note: Pending, mark: Mark) -> str:
    """A comment as it is in the text, and where."""
    text = _text(note, mark.span)
    return f"{limits.shortened(text)} at line {_line(note, mark)}"


def _whose(note: Pending, mark: Mark) -> str:
    owner = note.owner(mark)
    if owner is None:
        return f"a mark somebody typed ({critic.DELIMITERS[mark.kind].opener}…)"
    return f"a pending suggestion by {owner.author}"


def _line(note: Pending, mark: Mark) -> int:
    view = note.reading.accepted
    return view.line(view.to_view(mark.start))


def _text(note: Pending, span: critic.Span) -> str:
    return note.reading.text[span[0] : span[1]]


# ── one's own words ──────────────────────────────────────────────────────────────────────────────
# Whether an edit of one's own suggestion deletes nothing but one's own words.
#
# An author may rewrite a pending suggestion as often as it takes. People read it meanwhile, and
# type in it: their words are not the author's to delete. The edit is refused where one of the
# characters that it deletes was written by anybody else. Delimiters do not count: they hold
# nobody's words, and somebody who undoes a decision puts them back.
#
# The authors of characters in notes of an older flashgrep are not known. There, a character in a
# mark is taken for the author's if it was sent by the client that sent the mark's opener: our own,
# which people cannot type with.


Writers = Callable[[int, int], Sequence[tuple[Anchor, Author | None]]]
"""The characters of a stretch of the text, and who wrote each; None if nobody knows."""


def check_own(
    note: Pending, splices: Sequence[TextSplice], author: Author, writers: Writers, words: Words
) -> None:
    """Refuse splices that delete what somebody else wrote."""
    openers = _Openers(note, writers)
    for splice in splices:
        for start, end in _texts(note, splice.start, splice.end):
            for place, (anchor, writer) in enumerate(writers(start, end), start):
                is_own = writer.is_same(author) if writer else openers.sent(place, anchor)
                if not is_own:
                    raise not_own(note, place, writer, words)


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
    if mark.kind is MarkKind.SUBSTITUTION:
        yield mark.arrow, mark.arrow + len(ARROW)
    yield mark.end - WIDTH, mark.end


class _Openers:
    """Which client sent the opener of each mark; looked up once per mark."""

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
