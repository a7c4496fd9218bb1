"""A desk: real files in a directory, and the file tools called as the toolbox calls them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flashgrep.errors import FlashgrepError
from flashgrep.search.scan.scan import DiskSearcher
from flashgrep.settings import Settings
from flashgrep.tools.dispatch.call import Answer, Call, Cancellation, Services, refusal
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.dispatch.spec import ToolSpec, read_arguments
from flashgrep.tools.mounts.files import Files
from flashgrep.tools.verbs import edit, read, write
from flashgrep.workspace.scope import Scope

TOOLS: dict[str, ToolSpec] = {
    spec.name: spec
    for spec in (write.CREATE_FILE, edit.EDIT, read.READ, edit.STR_REPLACE, read.VIEW, write.WRITE)
}


class Desk:
    """Files below `root`, a caller, and the tools."""

    def __init__(self, root: Path, state: Path) -> None:
        self.root = root
        self.state = state
        self.settings = Settings(workdir=str(root))
        self.caller = Caller("someone")
        self.cancelled = Cancellation()
        self.scope = Scope(str(root), always_denied=(os.fsencode(state),))
        self.engine = DiskSearcher(self.scope)

    def set(self, **settings: Any) -> None:
        """Change settings as if the server had been started with them."""
        self.settings = dataclasses.replace(self.settings, **settings)

    def confine(self, allow: tuple[str, ...] = (), deny: tuple[str, ...] = ()) -> None:
        """Scope the desk."""
        self.scope.close()
        self.scope = Scope(str(self.root), allow, deny)

    def file(self, name: str, data: bytes | str) -> Path:
        """Make a file and its parents."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def __call__(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool; a failure is an answer with a code."""
        spec = TOOLS[tool]
        services = Services(self.scope, os.fsencode(self.state), self.engine)
        call = Call(self.caller, services, self.settings, self.cancelled)
        call.mount = Files(call)
        try:
            return spec.handler(call, read_arguments(spec, arguments))
        except FlashgrepError as error:
            return refusal(error)

    def text(self, tool: str, **arguments: Any) -> str:
        """The text of a call that must succeed."""
        answer = self(tool, **arguments)
        assert answer.code is None, answer.text
        return answer.text

    def refused(self, tool: str, code: str, **arguments: Any) -> str:
        """The text of a call that must fail with this code."""
        answer = self(tool, **arguments)
        assert answer.code == code, answer
        return answer.text


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    root = tmp_path / "desk"
    root.mkdir()
    made = Desk(root, tmp_path / "state")
    yield made
    made.engine.close()
    made.scope.close()
