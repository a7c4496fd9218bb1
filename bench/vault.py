"""Generated notes, as a knowledge base and as the folder that it exports."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.corpus import SCRATCH
from bench.served import FLASHGREP, environment

NOTE_BYTES = 5_000
MARKS = {"keelhaul": 1000, "harbourmaster": 50, "Quarterly review": 4}
"""Words that one of so many notes has, for patterns of each class."""

_FOLDERS = 40
_LINES = 3_000
"""Different ones, which all notes are made of."""
_LINKED = 20
"""One line in so many ends with a link."""
_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "ra", "se", "ti", "ing", "ly")


@dataclass(frozen=True)
class Vault:
    """Where the notes are."""

    kb: Path
    exported: Path
    paths: list[str]


def title(number: int) -> str:
    """The heading of a note, which occurs once in all notes."""
    return f"Note {number:05}"


@contextmanager
def generated(count: int, size: int = NOTE_BYTES) -> Iterator[Vault]:
    """A copy of the knowledge base, to be changed at will; the notes are made once and kept."""
    top = (SCRATCH / f"notes-{count}x{size}").resolve()
    if not (top / "ready").exists():
        _make(top, count, size)
    copy = top / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(top / "kb", copy)
    try:
        yield Vault(copy, top / "exported", [_path(number) for number in range(count)])
    finally:
        shutil.rmtree(copy)


def _make(top: Path, count: int, size: int) -> None:
    shutil.rmtree(top, ignore_errors=True)
    chance = random.Random(1)
    lines = [_line(chance, count) for _ in range(_LINES)]
    for number in range(count):
        path = top / "written" / _path(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_text(number, chance, lines, size), encoding="utf-8")
    kb, exported = str(top / "kb"), str(top / "exported")
    for command in (["init"], ["import", str(top / "written")], ["export", exported]):
        _run("kb", *command, "--kb", kb)
    shutil.rmtree(top / "written")
    (top / "ready").touch()


def _path(number: int) -> str:
    return f"Folder {number % _FOLDERS:02}/{title(number)}.md"


def _text(number: int, chance: random.Random, lines: list[str], size: int) -> str:
    marks = [f"- [ ] {mark}" for mark, every in MARKS.items() if number % every == every // 2]
    text = "\n".join([f"# {title(number)}", "", *marks, ""])
    while len(text) < size:
        text += chance.choice(lines) + "\n"
    return text


def _line(chance: random.Random, count: int) -> str:
    words = ["".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))) for _ in range(11)]
    words.insert(chance.randrange(11), "the")
    if not chance.randrange(_LINKED):
        words.append(f"[[{title(chance.randrange(count))}]]")
    return " ".join(words)


def _run(*arguments: str) -> None:
    subprocess.run(
        [FLASHGREP, *arguments], check=True, env=environment(), stdout=subprocess.DEVNULL
    )
