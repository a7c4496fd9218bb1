"""Random calls of grep and glob: every parameter, patterns that meet the words of a thicket."""

from __future__ import annotations

import os
from random import Random
from typing import Any

from flashgrep.workspace.scope import shown_name
from tests.index.thicket import Thicket

PATTERNS = [
    "needle",
    "need",
    "(?i)NEEDLE",
    "kelvin",
    "(?i)kelvin",
    "mask|needle",
    "(?i)mask",
    r"\d+\.\d+",
    r"\d+\.\d+\.\d+",
    r"^needle",
    r"needle$",
    r"^\s*$",
    r"^",
    r"foo\(bar\)",
    r"\bend\b",
    r"aa+",
    r"a{3,}",
    r"[nN]eed[lm]e",
    r"x = .;",
    r".",
    r"hay.*needle",
    r"needle.*\n.*hay",
    r"end\s+hay",
    "nothing like it",
    "\u65e5\u672c",
    "na.ve",
    "\u017ftruct",
    r"(?i)struct",
    r"\x6eeedle",
    r"\Qfoo(\E",
    r"_sus|_end",
    r"(foo|hay)?end",
    r"x{100}",
    r"\Aneedle",
    r"\z",
    "\u212a",
    r"[^a-z\s]+",
    r"\s",
    r"\S+ \S+",
    "xx",
]
_INCLUDES: list[Any] = [
    "*.py",
    "*.txt",
    "*.{py,md}",
    "**/src/**",
    "[ab]*",
    "src/*",
    ["*", "!*.txt"],
    ["!log"],
    "k*",
]
_GLOBS = [
    *("*", "**", "*.py", "**/*.txt", "src/**", "[a-c]*", "**/inner/**", "*/*", ".*", "deep/*"),
    *("a.py", "/a.py", "src/*.py", "src/**/*.{c,py}", "**/log", "*.{md,txt}", "{a,b}*", "?.c"),
    *("**/**", "/*", "*{.py,.PY}", "**/b.txt", "*\u672c*", "*\n*", "src.d/*", "**/deep/**/*.c"),
]
_TYPES = ["py", "c", "md", "markdown"]


def question(chance: Random, tree: Thicket) -> dict[str, Any]:
    """The arguments of a call."""
    asked: dict[str, Any] = {"pattern": chance.choice(PATTERNS)}
    asked["output_mode"] = chance.choice(["content", "content", "count", "files_with_matches"])
    for name, likely, values in (
        ("case_insensitive", 0.2, [True]),
        ("multiline", 0.2, [True]),
        ("include", 0.2, _INCLUDES),
        ("type", 0.1, _TYPES),
        ("context", 0.2, [1, 2, 30]),
        ("context_before", 0.1, [0, 3]),
        ("context_after", 0.1, [0, 3]),
        ("head_limit", 0.3, [1, 2, 5, 20]),
        ("offset", 0.2, [0, 1, 4, 1_000]),
        ("only_matching", 0.15, [True]),
        ("line_numbers", 0.05, [False]),
    ):
        if chance.random() < likely:
            asked[name] = chance.choice(values)
    if chance.random() < 0.5:
        asked["path"] = place(chance, tree)
    return asked


def place(chance: Random, tree: Thicket) -> str:
    """Where to search: a directory (ignored ones too), a file, a link, nothing."""
    directories, files, links = tree.entries()
    kinds = [directories, directories, directories, files, links, [b"nowhere"]]
    path = chance.choice(chance.choice(kinds) or directories)
    relative = os.path.relpath(path, os.fsencode(tree.root))
    return shown_name(chance.choice([path, relative]))


def glob_question(chance: Random, tree: Thicket) -> dict[str, Any]:
    """The arguments of a call of glob."""
    asked: dict[str, Any] = {"pattern": chance.choice(_GLOBS)}
    for name, likely, values in (
        ("type", 0.2, ["file", "directory"]),
        ("exclude", 0.2, [["*.txt"], ["src/**"], ["!a*"], ["deep", "*.c"], ["*", "!src"]]),
        ("extensions", 0.1, [["py"], [".txt", "MD"], ["gitignore~"], ["\u00e4"]]),
        ("max_depth", 0.2, [0, 1, 2]),
        ("include_hidden", 0.2, [False]),
        ("sort_by", 0.5, ["modified", "name", "path", "size"]),
        ("limit", 0.3, [1, 5, 1_000]),
        ("offset", 0.2, [0, 3]),
        ("case_sensitive", 0.1, [False]),
        ("follow_symlinks", 0.2, [True]),
        ("respect_gitignore", 0.1, [False]),
    ):
        if chance.random() < likely:
            asked[name] = chance.choice(values)
    if "sort_by" in asked and chance.random() < 0.5:
        asked["sort_order"] = chance.choice(["asc", "desc"])
    if chance.random() < 0.4:
        asked["path"] = place(chance, tree)
    return asked


def listing_question(chance: Random) -> dict[str, Any]:
    """The arguments of a call of list_files."""
    asked: dict[str, Any] = {}
    for name, likely, values in (
        ("pattern", 0.6, _GLOBS),
        ("limit", 0.3, [1, 5, 1_000]),
        ("offset", 0.3, [0, 3, 50]),
    ):
        if chance.random() < likely:
            asked[name] = chance.choice(values)
    return asked
