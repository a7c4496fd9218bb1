"""Texts that form a delimiter of a mark with the text beside them.

Neither `{` nor `++ keep ++}` is a mark; take out a word between them and they are one. Somebody's
own words would then be a suggestion that nobody made.
"""

from __future__ import annotations

from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import WIDTH


def joined(before: str, old: str, new: str, behind: str) -> str | None:
    """The delimiter that `new` forms with the texts around it when it replaces `old`; None if none.
    One that was there before, or that is wholly inside `new`, does not count.
    """
    sides = before[max(len(before) - WIDTH + 1, 0) :], behind[: WIDTH - 1]
    made = _across(sides[0], new, sides[1]) - _across(sides[0], old, sides[1])
    return min(made)[1] if made else None


def over(before: str, behind: str) -> str | None:
    """The delimiter that reaches over the border of two texts; None if none does."""
    left, right = before[max(len(before) - WIDTH + 1, 0) :], behind[: WIDTH - 1]
    text = left + right
    pieces = (text[at : at + WIDTH] for at in range(len(left)))
    return next((piece for piece in pieces if critic.token(piece)), None)


def _across(before: str, middle: str, behind: str) -> set[tuple[bool, str]]:
    """The delimiters that reach over an end of the middle text: whether over its end, and which."""
    text = before + middle + behind
    ends = (len(before), len(before) + len(middle))
    found = set()
    for at in {*range(ends[0]), *range(max(ends[1] - WIDTH + 1, 0), ends[1])}:
        piece = text[at : at + WIDTH]
        is_inside = at >= ends[0] and at + WIDTH <= ends[1]
        if not is_inside and critic.token(piece):
            found.add((at >= ends[0], piece))
    return found
