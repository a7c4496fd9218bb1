"""read and view of a file that is no valid UTF-8: shown, and marked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.workshop import Workshop, workshop

MARK = "[Not valid UTF-8: byte 0xE9 (\u00e9 in Windows-1252) at line {}"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop(tmp_path) as made:
        made.file("a.txt", b"one\ncaf\xe9\nthree\ncaf\xe9 \xe2\x82 noir\n")
        yield made


@pytest.mark.parametrize("tool", ["read", "view"])
def test_the_bytes_are_named_at_the_end(shop: Workshop, tool: str) -> None:
    *lines, last = shop.lines(tool, path="a.txt")
    assert lines == [
        "     1\tone",
        "     2\tcaf\ufffd",
        "     3\tthree",
        "     4\tcaf\ufffd \ufffd noir",
    ]
    assert last.startswith(MARK.format(2) + " and bytes of 1 more line. They are shown as \ufffd")
    assert "convert the file first" in last


def test_only_lines_that_are_shown_are_told(shop: Workshop) -> None:
    assert shop.lines("read", path="a.txt", offset=3, limit=1) == ["     3\tthree"]
    assert shop.lines("view", path="a.txt", view_range=[1, 1]) == ["     1\tone"]
    assert shop.lines("read", path="a.txt", offset=4)[-1].startswith(MARK.format(4) + ". ")
    assert shop.lines("view", path="a.txt", view_range=[3, 9])[-1].startswith(MARK.format(4))


@pytest.mark.parametrize("tool", ["read", "view"])
def test_a_cut_answer_has_both_lines_within_the_budget(tmp_path: Path, tool: str) -> None:
    with workshop(tmp_path, max_output_chars=1_000) as shop:
        shop.file("a.txt", b"caf\xe9 and more of it\n" * 500)
        *lines, mark, cut = shop.lines(tool, path="a.txt")
        assert len("\n".join([*lines, mark, cut])) <= 1_000
        assert mark.startswith(MARK.format(1) + f" and bytes of {len(lines) - 1} more lines")
        assert cut.startswith("[PARTIAL view: lines 1-")


def test_one_line_that_is_cut_is_told_too(tmp_path: Path) -> None:
    with workshop(tmp_path, max_output_chars=1_000) as shop:
        shop.file("a.txt", b"\xe9" * 5_000)
        _, mark, cut = shop.lines("read", path="a.txt")
        assert mark.startswith(MARK.format(1) + ". ")
        assert cut.startswith("[PARTIAL view: line 1, characters 1-")


@pytest.mark.parametrize(
    "data",
    ["caf\u00e9 \ufffd\n".encode(), "\ufeffcaf\u00e9\n".encode("utf-16-le"), b"", b"plain\n"],
)
def test_text_is_not_marked(shop: Workshop, data: bytes) -> None:
    shop.file("b.txt", data)
    for tool in ("read", "view"):
        assert "UTF-8" not in shop.text(tool, path="b.txt")
