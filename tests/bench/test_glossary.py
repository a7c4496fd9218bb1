"""docs/glossary.md: each term once, each file where it says; files that other pages name."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/design.md", "docs/knowledge-base.md"])
def test_modules_that_a_page_names_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"^```diff$.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"`([\w/]+\.py)`", prose))
    places = (ROOT, ROOT / "src" / "flashgrep")
    missing = sorted(name for name in named if not any((at / name).is_file() for at in places))
    assert not missing, f"{page} names files that are gone"
