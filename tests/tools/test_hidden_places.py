"""No tool, under any name, tells whether a place outside or a denied one exists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tools.workshop import Workshop, workshop

# tool → its arguments for a path
CALLS: dict[str, dict[str, Any]] = {
    "grep": {"pattern": "text", "path": "{}"},
    "glob": {"pattern": "*", "path": "{}"},
    "view": {"path": "{}"},
    "read": {"file_path": "{}"},
    "str_replace": {"path": "{}", "old_str": "text", "new_str": "other"},
    "edit": {"file_path": "{}", "old_string": "text", "new_string": "other"},
    "create_file": {"path": "{}", "content": "other"},
    "write": {"file_path": "{}", "content": "other"},
    "get_slice": {"file_path": "{}", "start_line": 1, "end_line": 1},
    "read_code": {"file_path": "{}"},
    "write_code": {"file_path": "{}", "start_line": 1, "end_line": 1, "replacement": "other"},
    "batch_write_code": {
        "operations": [{"file_path": "{}", "start_line": 1, "end_line": 1, "replacement": "other"}]
    },
}

PATHS = [
    "{outside}/dir/../../work/a.py",
    "{outside}/dir/../../work",
    "{outside}/dir/..",
    "{outside}/dir",
    "{outside}/dir/f",
    "../outside/dir/../../work/a.py",
    "out/../../work/a.py",
    "secret/../a.py",
    "secret/sub/../../a.py",
    "secret/sub",
    "secret",
]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    root = str(tmp_path / "work")
    Path(root).mkdir()
    with workshop(tmp_path, allow_dir=(root,), deny_dir=("secret",), no_index=True) as made:
        made.file("a.py", "text\n")
        made.link("out", "../outside/dir")
        yield made


def filled(arguments: Any, path: str) -> Any:
    if isinstance(arguments, dict):
        return {name: filled(value, path) for name, value in arguments.items()}
    if isinstance(arguments, list):
        return [filled(value, path) for value in arguments]
    return path if arguments == "{}" else arguments


@pytest.mark.parametrize("tool", CALLS)
def test_no_tool_tells_whether_a_hidden_place_exists(
    shop: Workshop, tmp_path: Path, tool: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    paths = [path.format(outside=outside) for path in PATHS]

    def answers() -> list[tuple[str | None, str]]:
        found = [shop.call(tool, **filled(CALLS[tool], path)) for path in paths]
        return [(answer.code, answer.text) for answer in found]

    without = answers()
    for hidden in (outside / "dir", shop.root / "secret" / "sub"):
        hidden.mkdir(parents=True)
        (hidden / "f").write_text("text\n", encoding="utf-8")
    assert answers() == without
    denied = "access_denied"
    assert all(denied in f"{code} {text}" for code, text in without), without
    assert (shop.root / "a.py").read_text(encoding="utf-8") == "text\n"


def test_a_listing_shows_a_link_alike_whether_or_not_its_way_exists(
    shop: Workshop, tmp_path: Path
) -> None:
    shop.link("winding", "../outside/dir/../../work/a.py")
    before = shop.text("view", path=".")
    (tmp_path / "outside" / "dir").mkdir(parents=True)
    assert shop.text("view", path=".") == before
    assert "winding" not in before
