"""How much a path counts: what is implemented stands before what is tested, declared or told.

Mild on purpose. A test that answers far better than any implementation still comes first.
"""

from __future__ import annotations

import re
from typing import Final

ASIDE: Final = 0.6
"""Tests, documentation, samples."""
DECLARING: Final = 0.75
"""Headers and stubs: the same words as the implementation, without the code."""

_ASIDE_DIRECTORY: Final = re.compile(
    r"(?:^|/)(?:tests?|testing|selftests?|testdata|specs?|documentation|docs?|samples?|examples?"
    r"|fixtures?|mocks?|benchmarks?)/",
    re.IGNORECASE,
)
_ASIDE_NAME: Final = re.compile(
    r"(?:^|[_.-])(?:self)?tests?[_.-]|[._-]spec\."
    r"|(?-i:[a-z](?:Tests?|Spec)\.)",
    re.IGNORECASE,
)
_DECLARING_NAME: Final = re.compile(r"\.(?:h|hh|hpp|hxx|pyi|d\.ts|d\.mts)$")


def path_weight(path: str) -> float:
    """What a file's relevance is multiplied by."""
    name = path.rpartition("/")[2]
    is_aside = _ASIDE_DIRECTORY.search(path) or _ASIDE_NAME.search(name)
    weight = ASIDE if is_aside else 1.0
    return weight * DECLARING if _DECLARING_NAME.search(name) else weight
