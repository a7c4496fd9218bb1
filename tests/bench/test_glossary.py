"""docs/glossary.md: each term once, each file where it says."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| (?!term|-)(.+?) \| .+ \| `(.+)` \|$",
    (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def test_every_term_is_there_once() -> None:
    assert ROWS
    assert [term for term, count in Counter(term for term, _ in ROWS).items() if count > 1] == []


def test_every_file_is_there() -> None:
    missing = [path for _, path in ROWS if not (ROOT / "src" / "flashgrep" / path).is_file()]
    assert not missing, f"docs/glossary.md names files that are gone: {missing}"
