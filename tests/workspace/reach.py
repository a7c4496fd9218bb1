"""A workspace with an evil twin and a place outside, for the tests of what may be reached."""

from __future__ import annotations

import os
from pathlib import Path

from flashgrep.errors import FlashgrepError
from flashgrep.workspace.scope import Scope


class World:
    """A workspace, its evil twin, a place outside, and scopes over them."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.ws, self.evil, self.outside = top / "ws", top / "ws-evil", top / "outside"
        self.state = self.ws / "state"
        for directory in (self.ws / "src" / "deep", self.evil, self.outside, self.state):
            directory.mkdir(parents=True)
        self._scopes: list[Scope] = []

    def file(self, path: Path, text: str = "text") -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def link(self, name: str, target: str | Path) -> None:
        (self.ws / name).symlink_to(target)

    def scope(self, *deny: str, allow: tuple[Path, ...] | None = None) -> Scope:
        allowed = (self.ws,) if allow is None else allow
        made = Scope(str(self.ws), [str(p) for p in allowed], deny, (os.fsencode(self.state),))
        self._scopes.append(made)
        return made

    def close(self) -> None:
        for scope in self._scopes:
            scope.close()


def read(scope: Scope, path: str) -> str:
    fd, _ = scope.open_regular(scope.place(path))
    try:
        return os.read(fd, 1000).decode()
    finally:
        os.close(fd)


def code(scope: Scope, path: str) -> str:
    """The code of the refusal to read a path, or `read`."""
    try:
        read(scope, path)
    except FlashgrepError as error:
        return error.code
    return "read"
