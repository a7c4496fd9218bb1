"""Two servers over one workspace, one with an index and one without: they must answer alike."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flashgrep.app import Application, build
from flashgrep.errors import FlashgrepError
from flashgrep.index.index import BUILT_ELSEWHERE, StartingIndex
from flashgrep.index.update.ranked_index import RankedIndex
from flashgrep.index.watch import tracker
from flashgrep.index.workspace_index import WorkspaceIndex
from flashgrep.settings import Settings
from flashgrep.tools.catalog import all_tools
from flashgrep.tools.dispatch.call import Call, refusal
from flashgrep.tools.dispatch.spec import read_arguments
from flashgrep.tools.mounts.files import Files

_TOOLS = {name: spec for spec in all_tools() for name in spec.names}
_PATIENCE_SECONDS = 120.0


class Twins:
    """`top/work` under two servers that share `top/state`.

    With `reads`, another one was there first and writes the index: this one can only read it. With
    an `environment` the state is where that says.
    """

    def __init__(
        self,
        top: Path,
        settings: dict[str, Any],
        reads: bool = False,
        environment: dict[str, str] | None = None,
    ) -> None:
        state = str(top / "state") if environment is None else ""
        given = {"workdir": str(top / "work"), "state_dir": state, **settings}
        self.indexed = build(Settings(**given), environment)
        self.plain = build(Settings(**given, no_index=True), environment)
        self.writer = build(Settings(**given), environment) if reads else None
        if self.writer is not None:
            self.writer.start_index()
            _ready(self.writer)
        self.by_index = 0
        """How many searches the index answered."""
        self._count()
        self.indexed.start_index()

    def _count(self) -> None:
        index = self.indexed.services.index
        assert isinstance(index, StartingIndex), index.status()
        search = index.search

        def counted(*arguments: Any) -> Any:
            found = search(*arguments)
            self.by_index += found is not None
            return found

        index.search = counted  # type: ignore[method-assign,assignment]

    def close(self) -> None:
        for application in (self.indexed, self.plain, self.writer):
            if application is not None:
                application.close()

    # ── asking ──────────────────────────────────────────────────────────────────────────────────

    def answer(self, tool: str, direct: bool, arguments: dict[str, Any]) -> Any:
        """What the server with an index answers: text, code and data."""
        return _answer(self.indexed, tool, direct, arguments)

    def both(self, tool: str, direct: bool, arguments: dict[str, Any]) -> tuple[Any, Any]:
        """What the server with an index answers, and the one without."""
        indexed = self.answer(tool, direct, arguments)  # at once
        return indexed, _answer(self.plain, tool, direct, arguments)

    def agree(self, tool: str = "grep", /, **arguments: Any) -> Any:
        """The answer, which must be the same."""
        indexed, plain = self.both(tool, False, arguments)
        assert indexed == plain, f"{tool} {arguments}"
        return plain[0]

    # ── waiting ─────────────────────────────────────────────────────────────────────────────────

    @property
    def index(self) -> WorkspaceIndex:
        starting = self.indexed.services.index
        assert isinstance(starting, StartingIndex)
        wait_for(starting._there.is_set, lambda: f"no index: {starting.status()}")
        assert isinstance(starting._index, WorkspaceIndex)
        return starting._index

    def ready(self) -> None:
        """Wait until searches are answered from the index."""
        _ready(self.indexed)

    def folded(self) -> None:
        """Wait until all that has happened so far is in the segments, or never will be."""
        index, state = self.index, self.index._state

        def is_folded() -> bool:
            index._look_at_everything_unless_watching()
            with state._changed:
                state._take(state.tracker.changes())
                view = state.view
                if view is None:  # a reader trusts no file that was written as it was indexed
                    return index.status().reason == BUILT_ELSEWHERE
                return not view.subtrees and view.entries <= state._stuck

        wait_for(is_folded, lambda: f"changes are not folded in: {state.view}")


def _ready(application: Application) -> None:
    status = application.services.index.status
    wait_for(lambda: status().grep_ready, lambda: f"the index is not ready: {status()}")


def wait_for(condition: Any, told: Any) -> None:
    """Wait for something the background does; nothing here depends on how long that takes."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, told()
        time.sleep(0.01)


def _answer(application: Application, tool: str, direct: bool, arguments: dict[str, Any]) -> Any:
    spec = _TOOLS[tool]
    caller = application.callers.get("twin")
    call = Call(caller, application.services, application.settings)
    call.mount = Files(call)
    call.direct = direct
    try:
        answer = spec.handler(call, read_arguments(spec, arguments))
    except FlashgrepError as error:
        answer = refusal(error)
    return answer.text, answer.code, answer.data if direct else None


@contextmanager
def twins(
    top: Path, reads: bool = False, environment: dict[str, str] | None = None, **settings: Any
) -> Iterator[Twins]:
    """Twins with an index that is ready; changes are folded in as soon as they are there."""
    (top / "work").mkdir(exist_ok=True)
    made = Twins(top, settings, reads, environment)
    try:
        made.ready()
        yield made
    finally:
        made.close()


HASTE = {
    "flashgrep.index.update.tree_state.FOLD_QUIET_SECONDS": 0.05,
    "flashgrep.index.update.tree_state.FOLD_TURN_SECONDS": 0.02,
    "flashgrep.index.update.rescan.FOLD_LATEST_SECONDS": 2.0,
    "flashgrep.index.update.ranked_index.RANK_REST_SECONDS": 0.05,
}


@contextmanager
def haste(ranked: bool = False) -> Iterator[None]:
    """Let the index fold changes in at once: a test has no half seconds to wait.

    Without the ranked index, which takes as long again and has no part in a search.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, value in HASTE.items():
            patch.setattr(name, value)
        if not ranked:
            patch.setattr(RankedIndex, "follow", lambda *_: None)
        yield


@contextmanager
def unwatched() -> Iterator[None]:
    """A machine that grants no inotify descriptor: each search looks at every file."""

    def refused() -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracker, "Inotify", refused)
        yield
