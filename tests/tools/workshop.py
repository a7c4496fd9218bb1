"""A directory of real files and the whole toolbox over it, as `app.build` joins it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio

from flashgrep.app import Application, build
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.settings import Settings
from flashgrep.tools.dispatch.call import Answer


class Workshop:
    """Files below `root`, and the tools called as a transport calls them."""

    def __init__(self, root: Path, application: Application) -> None:
        self.root = root
        self.application = application
        self.caller = application.callers.get("workshop")

    # ── files ───────────────────────────────────────────────────────────────────────────────────

    def file(self, name: str, data: str | bytes = "", modified: int | None = None) -> Path:
        """Make a file and its parents."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        if modified is not None:
            os.utime(path, (modified, modified))
        return path

    def files(self, *names: str, data: str | bytes = "x\n") -> None:
        """Make several files that hold the same; each is newer than the one before."""
        for age, name in enumerate(names):
            self.file(name, data, modified=1_000_000 + age)

    def link(self, name: str, target: str | Path) -> None:
        """Make a symbolic link."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    # ── notes ───────────────────────────────────────────────────────────────────────────────────

    @property
    def notes(self) -> KnowledgeBase:
        """The knowledge base of a workshop that has one."""
        assert self.application.notes is not None
        return self.application.notes

    def note(self, path: str, text: str = "", author: str = "somebody") -> str:
        """Make a note; gives its id."""
        return self.notes.ask(lambda library: library.create(path, text, author)).id

    # ── tools ───────────────────────────────────────────────────────────────────────────────────

    def call(self, tool: str, /, **arguments: Any) -> Answer:
        """Call a tool; a failure is an answer with a code."""
        return anyio.run(self.application.toolbox.call, tool, arguments, self.caller)

    def text(self, tool: str, /, **arguments: Any) -> str:
        """The text of a call that must succeed."""
        answer = self.call(tool, **arguments)
        assert answer.code is None, answer.text
        return answer.text

    def lines(self, tool: str, /, **arguments: Any) -> list[str]:
        """The lines of that text."""
        return self.text(tool, **arguments).split("\n")

    def refused(self, tool: str, code: str, /, **arguments: Any) -> str:
        """The text of a call that must fail with this code."""
        answer = self.call(tool, **arguments)
        assert answer.code == code, answer
        return answer.text

    def json(self, tool: str, /, **arguments: Any) -> Any:
        """The object of a call that must succeed: the text is it, and so is the direct result."""
        answer = self.call(tool, **arguments)
        assert answer.code is None, answer.text
        assert json.loads(answer.text) == answer.data
        return answer.data

    def direct(self, tool: str, /, **arguments: Any) -> Any:
        """The result of a direct method; a failure is raised."""
        return anyio.run(self.application.toolbox.direct, tool, arguments, self.caller)

    def error(self, tool: str, code: str, /, **arguments: Any) -> Any:
        """The error object of a call that must fail with this code."""
        told = json.loads(self.refused(tool, code, **arguments))
        assert told["ok"] is False
        assert told["error"]["code"] == code
        return told["error"]


@contextmanager
def workshop_with_notes(directory: Path, **settings: Any) -> Iterator[Workshop]:
    """The same with a knowledge base in `directory/kb`."""
    kb = directory / "kb"
    if not kb.exists():
        Home.create(kb)
    with workshop(directory, kb=kb, **settings) as made:
        yield made


@contextmanager
def workshop(directory: Path, **settings: Any) -> Iterator[Workshop]:
    """A workshop in `directory/work`, made if need be."""
    root = (directory / "work").resolve()
    root.mkdir(exist_ok=True)
    state = str(directory / "state")
    application = build(Settings(workdir=str(root), state_dir=state, **settings))
    try:
        yield Workshop(root, application)
    finally:
        application.close()
