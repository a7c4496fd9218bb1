"""A path taken from a search of another directory: a miss suggests the place below it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tools.workshop import Workshop, workshop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop(tmp_path) as made:
        made.files("pkg/a/core.py", "a.d/a/core.py", "other/core.py")
        yield made


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("view", {}),
    ("read", {}),
    ("str_replace", {"old_str": "x", "new_str": "y"}),
    ("edit", {"old_string": "x", "new_string": "y"}),
]


@pytest.mark.parametrize(("tool", "more"), CALLS, ids=lambda value: str(value))
@pytest.mark.parametrize("searched", [("grep", "x"), ("glob", "*.py")])
def test_a_miss_suggests_the_place_below_the_last_searched_path(
    shop: Workshop, tool: str, more: dict[str, Any], searched: tuple[str, str]
) -> None:
    shop.text(searched[0], pattern=searched[1], path="pkg")
    for path in ("a/core.py", str(shop.root / "a/core.py")):
        told = shop.refused(tool, "not_found", path=path, **more)
        assert told.endswith(" Did you mean pkg/a/core.py?")


def test_the_last_search_counts_and_one_of_everything_takes_it_back(shop: Workshop) -> None:
    shop.text("grep", pattern="x", path="pkg")
    shop.text("glob", pattern="*", path="a.d")
    told = shop.refused("view", "not_found", path="a/core.py")
    assert told.endswith(" Did you mean a.d/a/core.py?")
    shop.text("grep", pattern="x", path="pkg/a/core.py")  # a file has nothing below it
    assert "Did you mean a.d/" in shop.refused("view", "not_found", path="a/core.py")
    shop.text("grep", pattern="x")
    shop.text("glob", pattern="x*", path="pkg/..")
    told = shop.refused("view", "not_found", path="nowhere/core.py")
    assert told.endswith(" Did you mean other/core.py?")


def test_what_does_not_stand_there_is_suggested_as_before(shop: Workshop) -> None:
    shop.text("grep", pattern="x", path="pkg")
    told = shop.refused("view", "not_found", path="other/cores.py")
    assert told.endswith(" Did you mean other/core.py?")
    assert "Did you mean" not in shop.refused("view", "not_found", path="/nowhere/at/all")


@pytest.mark.parametrize("tool", ["grep", "glob"])
def test_a_search_below_a_missing_path_suggests_one_too(shop: Workshop, tool: str) -> None:
    told = shop.refused(tool, "not_found", pattern="x", path="pgk")
    assert told == (
        f"Path not found: pgk; the current working directory is {shop.root}. Did you mean pkg?"
    )


def test_one_callers_search_is_no_hint_for_another(shop: Workshop) -> None:
    shop.text("grep", pattern="x", path="pkg")
    shop.caller = shop.application.callers.get("another")
    told = shop.refused("view", "not_found", path="a/core.py")
    assert told.endswith(" Did you mean other/core.py?")


def test_a_root_outside_is_suggested_in_full(shop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/only.py").write_text("x\n")
    shop.text("grep", pattern="x", path=str(tmp_path / "lib"))
    told = shop.refused("view", "not_found", path="only.py")
    assert told.endswith(f" Did you mean {tmp_path}/lib/only.py?")


def test_what_is_denied_is_never_suggested(tmp_path: Path) -> None:
    with workshop(tmp_path, deny_dir=("**/*.key",)) as shop:
        shop.files("pkg/id.key", "pkg/a")
        shop.text("grep", pattern="x", path="pkg")
        assert "Did you mean" not in shop.refused("view", "access_denied", path="id.key")
        shop.link("pkg/plain", "id.key")
        assert "pkg/plain" not in shop.refused("view", "not_found", path="plain")
