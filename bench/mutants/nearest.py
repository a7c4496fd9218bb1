"""Which tests are likely to notice a defect: those that speak of the place, nearest first.

By names, not by coverage: most tests start programs and worker processes, which a tracer would have
to follow, and a test file that names the module or the function is nearly always the one.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Final

from bench.mutants.mutations import Mutation

_MIRROR: Final = 1000
_WORDS: Final = 500
_MODULE: Final = 200
_SCOPE: Final = 100
_ROOM: Final = 50
_NEAR: Final = 8
"""Test files in the first portion: a few seconds, and most defects end there."""
_AROUND: Final = 32
"""Test files in the second portion. Hundreds of tests name `limits` or `errors`: the nearest do."""
_LATE: Final = ("faults", "bench")
NEIGHBOURHOOD: Final = 2
"""Portions that speak of the place, or of the room it is in; the rest comes after them."""


class Tests:
    """The test files of a repository."""

    __test__ = False

    def __init__(self, root: Path) -> None:
        self._root = root

    @cached_property
    def _files(self) -> dict[str, str]:
        files = sorted((self._root / "tests").rglob("test_*.py"))
        return {
            str(file.relative_to(self._root)): file.read_text(encoding="utf-8")
            for file in files
            if "node_modules" not in file.parts
        }

    def portions(self, mutation: Mutation, original: str) -> list[list[str]]:
        """All test files, nearest first: a few, the neighbourhood (perhaps none), and the rest."""
        before = mutation.before(original)
        scores = {
            name: self._score(mutation, before, name, text) for name, text in self._files.items()
        }
        ordered = sorted(scores, key=lambda name: (-scores[name], len(self._files[name])))
        near = ordered[:_NEAR]
        around = [name for name in ordered[_NEAR:] if scores[name] >= _ROOM][:_AROUND]
        rest = ordered[_NEAR + len(around) :]
        return [near, around, rest]

    def _score(self, mutation: Mutation, before: str, name: str, text: str) -> int:
        module = mutation.path.removeprefix("src/").removesuffix(".py").replace("/", ".")
        room, _, stem = module.removeprefix("flashgrep.").rpartition(".")
        room = room.replace(".", "/")
        score = _ROOM if name.startswith(f"tests/{room}/") else 0
        if name == f"tests/{room}/test_{stem}.py".replace("//", "/"):
            score += _MIRROR
        elif set(stem.split("_")) & set(Path(name).stem.split("_")):
            score += _SCOPE
        if re.search(rf"\b{re.escape(module)}\b", text) or f"import {stem}\n" in text:
            score += _MODULE
        score += sum(_SCOPE for part in mutation.scope.split(".") if _names(part, text))
        if mutation.kind == "text changed" and _quotes(before, text):
            score += _WORDS
        return score - (1 if name.split("/")[1] in _LATE else 0)


def _names(part: str, text: str) -> bool:
    part = part.strip("_")
    return len(part) > 3 and re.search(rf"\b{re.escape(part)}\b", text) is not None


def _quotes(before: str, text: str) -> bool:
    """Whether a test holds three words of the text that are together there."""
    words = re.findall(r"[A-Za-z]+", before)
    runs = (" ".join(words[at : at + 3]) for at in range(len(words) - 2))
    return any(run in text for run in runs)
