"""Another program appends to a file at the worst moment of an edit: its bytes are kept.

The other program is real and appends when it is told to: after the last look at the bytes, before
the new file takes its place.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from flashgrep.tools import change_lines, change_text
from flashgrep.workspace.write import intents
from flashgrep.workspace.write import replace as replacing_module
from flashgrep.workspace.write.replace import ReplaceTarget, TargetChanged, replace_bytes
from tests.tools.workshop import Workshop, workshop

_CODE = """
import sys
for word in sys.stdin:
    with open(sys.argv[1], "a") as file:
        file.write(word)
    print(flush=True)
"""

_HOLDING = """
import sys
with open(sys.argv[1], "a") as file:
    print(flush=True)
    for word in sys.stdin:
        file.write(word)
        file.flush()
        print(flush=True)
"""


class Appender:
    """A process that appends a line to a file when it is told to."""

    def __init__(self, path: Path, holds: bool = False) -> None:
        """One that `holds` has the file open all the time."""
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-c", _HOLDING if holds else _CODE, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._words = iter(["appended\n"])
        if holds:
            assert self._process.stdout is not None
            self._process.stdout.readline()

    def append(self) -> None:
        """Append once, and wait until it is done; later calls do nothing."""
        for word in self._words:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(word)
            self._process.stdin.flush()
            assert self._process.stdout.readline() == "\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=120)


TEXT = "one\ntwo\nthree\n"
WANTED = "one\n2\nthree\nappended\n"
SPLICE = {"file_path": "a", "start_line": 2, "end_line": 2, "replacement": "2\n"}
OTHER = {"file_path": "b", "start_line": 1, "end_line": 1, "replacement": "one\n"}

EDITS: dict[str, tuple[str, dict[str, Any]]] = {
    "str_replace": ("str_replace", {"path": "a", "old_str": "two", "new_str": "2"}),
    "edit": ("edit", {"file_path": "a", "old_string": "two", "new_string": "2"}),
    "write_code": ("write_code", SPLICE),
    "batch": ("batch_write_code", {"operations": [SPLICE]}),
    "batch of two files": ("batch_write_code", {"operations": [OTHER, SPLICE]}),
    "batch, best effort": ("batch_write_code", {"operations": [SPLICE], "mode": "best_effort"}),
}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop(tmp_path, no_index=True) as made:
        yield made


@pytest.mark.parametrize("linked", [False, True], ids=["by rename", "in place"])
@pytest.mark.parametrize("edit", EDITS)
def test_what_is_appended_during_an_edit_is_kept(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, edit: str, linked: bool
) -> None:
    file = shop.file("a", TEXT)
    shop.file("b", "1\n")
    if linked:
        os.link(file, shop.root / "other name")
    shop.call("read", file_path="a")
    with Appender(file) as appender:
        look = change_text.is_still

        def look_and_append(target: ReplaceTarget, current: Any) -> bool:
            is_same = look(target, current)
            if target.name == b"a":
                appender.append()
            return is_same

        for module in (change_text, change_lines):
            monkeypatch.setattr(module, "is_still", look_and_append)
        tool, arguments = EDITS[edit]
        shop.text(tool, **arguments)
    assert file.read_text(encoding="utf-8") == WANTED
    assert (shop.root / "b").read_text() == ("one\n" if edit == "batch of two files" else "1\n")


@pytest.mark.parametrize("edit", EDITS)
def test_what_is_appended_to_the_old_file_after_the_rename_is_carried_over(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, edit: str
) -> None:
    file = shop.file("a", TEXT)
    shop.file("b", "1\n")
    shop.call("read", file_path="a")
    with Appender(file, holds=True) as appender:
        sync = intents.sync_directory

        def sync_and_append(directory: int) -> None:
            sync(directory)
            if file.read_text(encoding="utf-8") != TEXT:
                appender.append()

        monkeypatch.setattr(replacing_module, "sync_directory", sync_and_append)
        tool, arguments = EDITS[edit]
        shop.text(tool, **arguments)
    assert file.read_text(encoding="utf-8") == WANTED


def replacing(tmp_path: Path, between: Callable[[], None]) -> None:
    directory = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    path = tmp_path / "a"
    original = path.stat() if path.exists() else None

    def check() -> bool:
        between()
        return True

    try:
        target = ReplaceTarget(directory, b"a", os.fsencode(path), os.fsencode(tmp_path / "state"))
        replace_bytes(target, b"new\n", original, check)
    finally:
        os.close(directory)


@pytest.mark.parametrize("names", [0, 1, 2], ids=["a new file", "by rename", "in place"])
def test_a_file_that_moves_after_the_last_look_is_left_as_it_is(tmp_path: Path, names: int) -> None:
    path = tmp_path / "a"
    if names:
        path.write_text(TEXT, encoding="utf-8")
    if names == 2:
        os.link(path, tmp_path / "b")
    with Appender(path) as appender, pytest.raises(TargetChanged):
        replacing(tmp_path, appender.append)
    assert path.read_text(encoding="utf-8") == (TEXT if names else "") + "appended\n"
    assert sorted(os.listdir(tmp_path / "state")) == []
    assert [name for name in os.listdir(tmp_path) if name.startswith(".flashgrep")] == []


def test_a_file_that_is_replaced_after_the_last_look_is_left_as_it_is(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "other"
    path.write_text(TEXT, encoding="utf-8")
    other.write_text(TEXT, encoding="utf-8")
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    with pytest.raises(TargetChanged):
        replacing(tmp_path, lambda: os.rename(other, path))
    assert path.read_text(encoding="utf-8") == TEXT
