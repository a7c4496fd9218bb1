"""Files, locks and processes are opened in one place each; this reads the sources to find others.

A user's file is opened by `workspace` alone: by descriptor, and through no link. Our own files,
locks and child processes are `system`'s. What else opens something is listed here, with its reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

import flashgrep

SOURCES: Final = Path(flashgrep.__file__).parent
ROOMS: Final = frozenset({"system", "workspace"})
"""The folders that may call what the others may not."""

FILES: Final = "open a user's file with workspace.safe_open, one of ours with system.atomic"
TREES: Final = "walk a user's tree by descriptor, with workspace"
NAMES: Final = "replace a file of ours with system.atomic"
LOCKS: Final = "lock with system.lock"
PROCESSES: Final = "start a process with system.child"

MODULES: Final = {
    "fcntl": LOCKS,
    "subprocess": PROCESSES,
    "multiprocessing": PROCESSES,
}
"""Modules of which nothing may be used."""

FUNCTIONS: Final = {
    **dict.fromkeys(["open", "io.open", "io.FileIO", "codecs.open", "os.open"], FILES),
    **dict.fromkeys(["os.walk", "os.fwalk", "glob.glob", "glob.iglob"], TREES),
    **dict.fromkeys(["os.rename", "os.renames", "os.replace", "os.link", "os.symlink"], NAMES),
    **dict.fromkeys([f"shutil.{name}" for name in ("copy", "copy2", "copyfile", "move")], NAMES),
    **dict.fromkeys(["shutil.copytree", "shutil.copymode", "os.truncate"], NAMES),
    **dict.fromkeys(["os.fork", "os.forkpty", "os.system", "os.popen"], PROCESSES),
    **dict.fromkeys([f"os.exec{how}" for how in ("l", "le", "lp", "lpe")], PROCESSES),
    **dict.fromkeys([f"os.exec{how}" for how in ("v", "ve", "vp", "vpe")], PROCESSES),
    **dict.fromkeys(["os.posix_spawn", "os.posix_spawnp", "pty.spawn"], PROCESSES),
}

LAST_WORDS: Final = frozenset(name.rpartition(".")[2] for name in FUNCTIONS)

METHODS: Final = {
    **dict.fromkeys(["read_text", "read_bytes", "write_text", "write_bytes", "open"], FILES),
    **dict.fromkeys(["rename", "replace", "hardlink_to", "symlink_to"], NAMES),
}
"""Methods of a `Path`; of another type they are told apart by `_is_of_a_path`."""

OTHERS: Final = frozenset({"self.open", "self._tree.open", "tantivy.Index.open", "webbrowser.open"})
"""Methods of these names that open no file."""

ALLOWED: Final = {
    ("cli", "os.execv"): "starts the same program again where the locale is not UTF-8",
    ("index/watch/changes", "open"): "reads the kernel's table of mounts",
    ("ranking/format", "os.link"): "puts our own ranked indexes together in one directory",
    ("index/format/shelf", "os.walk"): "measures our own index",
    ("index/git/git_index", "os.open"): "reads git's own index: bounded, never shown",
    ("index/git/repository", "os.open"): "reads small files of git's: bounded, never shown",
    ("index/git/log", "subprocess"): "runs git, which is no program of ours, for its log",
    ("index/update/transfer", "open"): "reads the snapshot that a person names at the terminal",
    ("notes/folders/exporting", "os.walk"): "lists our own attachments",
    ("notes/home", "os.truncate"): "writes its process id into the lock that it holds",
    ("notes/knowledge_base", "shutil.copytree"): "copies our own attachments into a backup",
    ("notes/links/index", "os.walk"): "lists our own attachments",
    ("transports/lines/peer_user", "read_bytes"): "reads the kernel's table of connections",
    ("transports/lines/peer_user", "read_text"): "reads the kernel's table of users",
    ("web/pages", "read_bytes"): "reads the files of our own package",
    ("web/status", "read_text"): "reads the kernel's figures of our own memory",
    (
        "transports/lines/unix_socket",
        "os.open",
    ): "makes a file beneath the descriptor of .flashgrep",
    ("transports/lines/unix_socket", "os.rename"): "puts a bound socket in place",
}

Use = tuple[str, int, str]
"""What is used that may not be, in which line, and what to do instead."""


def uses(source: str) -> Iterator[Use]:
    """What a module uses of the banned."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] in MODULES:
                    yield name.name, node.lineno, MODULES[name.name.split(".")[0]]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from _imported(node)
        elif isinstance(node, ast.Attribute | ast.Name) and _last_word(node) in LAST_WORDS:
            spelled = ast.unparse(node)
            if spelled in FUNCTIONS and isinstance(node.ctx, ast.Load):
                yield spelled, node.lineno, FUNCTIONS[spelled]
        if isinstance(node, ast.Call):
            yield from _called(node)


def _last_word(node: ast.Attribute | ast.Name) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


def _imported(node: ast.ImportFrom) -> Iterator[Use]:
    for name in node.names:
        spelled = f"{node.module}.{name.name}"
        if node.module in MODULES:
            yield spelled, node.lineno, MODULES[node.module]
        elif spelled in FUNCTIONS:
            yield spelled, node.lineno, FUNCTIONS[spelled]


def _called(node: ast.Call) -> Iterator[Use]:
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in METHODS:
        spelled = ast.unparse(function)
        is_known = spelled in FUNCTIONS or spelled in OTHERS or spelled.endswith("scope.open")
        if not is_known and _is_of_a_path(node, function.attr):
            yield function.attr, node.lineno, METHODS[function.attr]
    elif isinstance(function, ast.Name) and function.id == "open_in":
        flags = ast.unparse(node.args[1]) if len(node.args) > 1 else "none"
        if flags not in ("REGULAR", "DIRECTORY"):
            yield f"open_in with {flags}", node.lineno, "open_in takes REGULAR or DIRECTORY"


def _is_of_a_path(call: ast.Call, name: str) -> bool:
    """`replace` of a text has two arguments, and of a date or dataclass keywords."""
    return name != "replace" or (len(call.args) == 1 and not call.keywords)


def _modules() -> list[str]:
    found = [path.relative_to(SOURCES).with_suffix("") for path in SOURCES.rglob("*.py")]
    return sorted(path.as_posix() for path in found if path.parts[0] not in ROOMS)


@cache
def _used(module: str) -> list[Use]:
    source = (SOURCES / f"{module}.py").read_text(encoding="utf-8")
    if "os.devnull" in source:  # which is no file of anybody's
        source = source.replace("os.open(os.devnull", "print(os.devnull")
    return list(uses(source))


def test_nothing_is_opened_locked_or_started_outside_its_place() -> None:
    told = [
        f"{module}.py:{line}: {what}: {instead}"
        for module in _modules()
        for what, line, instead in _used(module)
        if (module, what) not in ALLOWED
    ]
    assert not told, "\n".join(told)


def test_every_exception_is_still_one() -> None:
    assert {(module, use[0]) for module in _modules() for use in _used(module)} == ALLOWED.keys()


@pytest.mark.parametrize(
    "line",
    [
        "open('x')",
        "with open(path, 'rb') as file: pass",
        "import io\nio.open('x')",
        "from io import open as other",
        "import os\nos.open('x', 0)",
        "from os import open as other",
        "import os\nopener = os.open",
        "Path('x').read_text()",
        "(home / 'x').write_bytes(b'')",
        "path.open('rb')",
        "path.rename(other)",
        "path.replace(other)",
        "import fcntl",
        "from fcntl import flock",
        "import subprocess",
        "os.execv('x', [])",
        "os.walk('.')",
        "open_in(name, os.O_RDONLY, dir_fd=fd)",
    ],
)
def test_this_would_be_found(line: str) -> None:
    assert list(uses(line))


@pytest.mark.parametrize(
    "line",
    [
        "text.replace('a', 'b')",
        "when.replace(tzinfo=None)",
        "replace(settings, workdir='x')",
        "self.scope.open(place, flags)",
        "os.fdopen(fd, 'rb')",
        "open_in(name, REGULAR, dir_fd=fd)",
        "read_text(scope, path)",
    ],
)
def test_this_opens_nothing(line: str) -> None:
    assert not list(uses(line))
