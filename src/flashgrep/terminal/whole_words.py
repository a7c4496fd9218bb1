r"""What -w means: no word character beside a match, whatever the match begins and ends with.

    foo      \b(?:foo)\b        a match begins and ends with a word character
    --help   \B(?:--help)\b     it begins with another, so there must be no border before it
    .x       \b(?:.x)\b         with either: RE2 has no look-around, so only words are found

Word characters are ASCII's, as RE2's are.
"""

from __future__ import annotations

import string
from typing import Final

from flashgrep.search.syntax import Alt, Cat, Char, Choice, Edge, Node, Repeat, tree_of

_WORD: Final = frozenset(map(ord, string.ascii_letters + string.digits + "_"))
_ANY: Final = frozenset({True, False, None})


def whole_words(source: str) -> str:
    """A pattern whose matches are those of `source` that are whole words."""
    tree = tree_of(source)
    return f"{_border(tree, 1)}(?:{source}){_border(tree, -1)}"


def _border(tree: Node | None, step: int) -> str:
    return r"\B" if tree is not None and _outermost(tree, step) == {False} else r"\b"


def _outermost(node: Node, step: int) -> frozenset[bool | None]:
    """Whether the first character (`step` 1) or the last (-1) is a word's; None for no text."""
    match node:
        case Char(text):
            return frozenset({ord(text) in _WORD})
        case Choice(members):
            return frozenset(member in _WORD for member in members)
        case Edge():
            return frozenset({None})
        case Alt(parts):
            return frozenset().union(*(_outermost(part, step) for part in parts))
        case Repeat(part, low, _):
            return _outermost(part, step) | (frozenset() if low else {None})
        case Cat(parts):
            found: frozenset[bool | None] = frozenset({None})
            for part in parts[::step]:
                if None in found:
                    found = (found - {None}) | _outermost(part, step)
            return found
    return _ANY
