"""Some lines of a file: the same as all lines, cut."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from flashgrep import limits
from flashgrep.errors import Cancelled, InvalidParams
from flashgrep.tools.format import line_window as windows
from flashgrep.tools.format.line_window import LineWindow, line_window


def window(path: Path, first: int, last: int, is_stopped: bool = False) -> LineWindow:
    fd = os.open(path, os.O_RDONLY)
    try:
        head = os.pread(fd, 512, 0)
        return line_window(fd, os.fstat(fd), head, first, last, lambda: is_stopped)
    finally:
        os.close(fd)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("seed", range(4))
def test_every_window_is_a_part_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, encoding: str
) -> None:
    monkeypatch.setattr(windows, "_PIECE", 16)
    monkeypatch.setattr(limits, "CHUNK_BYTES", 8)
    choose = random.Random(seed)
    lines = ["é" * choose.choice((0, 0, 1, 3, 20, 40)) for _ in range(30)]
    text = choose.choice(("\n", "\r\n")).join(lines) + choose.choice(("", "\n"))
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode(encoding))
    expected = [line.removesuffix("\r") for line in text.split("\n")]
    if not expected[-1]:
        expected.pop()
    if choose.random() < 0.5:
        os.utime(path, (1, 1))
    for _ in range(60):
        first = choose.randrange(1, len(expected) + 1)
        last = first + choose.randrange(0, 12)
        found = window(path, first, last)
        assert (found.first, found.lines) == (first, expected[first - 1 : last])
        assert found.total == len(expected)
    with pytest.raises(InvalidParams, match=f"the file has {len(expected)} lines"):
        window(path, len(expected) + 1, len(expected) + 9)


def test_a_large_file_is_counted_only_as_far_as_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "_COUNTED_BYTES", 10)
    path = tmp_path / "a.txt"
    path.write_text("line\n" * 1_000_000)
    assert window(path, 1, 2).total is None
    assert window(path, 999_999, 1_000_009).lines == ["line", "line"]
    assert window(path, 1_000_000, 1_000_000).lines == ["line"]


def test_counting_can_be_stopped(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("line\n")
    with pytest.raises(Cancelled):
        window(path, 1, 2, is_stopped=True)
