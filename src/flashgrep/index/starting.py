"""An index that starts beside the server: each loads its libraries while the other does.

The SDK takes a second to import, and the tree has to be looked through before an index of an
earlier server can be used. So other processes look through it meanwhile, and once the server is
started this one helps.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from flashgrep import limits
from flashgrep.index.index import Index, NoIndex, Status
from flashgrep.index.scoring import RankedFile

if TYPE_CHECKING:
    from flashgrep.search.pool import Pool
    from flashgrep.search.result import Report, SearchQuestion, SearchResult
    from flashgrep.search.turns import Flag
    from flashgrep.workspace.finding import Entry
    from flashgrep.workspace.scope import Place, Scope

log = logging.getLogger(__name__)


class StartingIndex:
    """The index of a workspace, there or about to be: until then, none."""

    def __init__(self, scope: Scope, directory: Path, pool: Pool) -> None:
        self._parts = (scope, directory, pool)
        self._index: Index = NoIndex("not started")
        self._begun = False
        self._settled = threading.Event()
        self._there = threading.Event()

    def start(self) -> None:
        self._begun = True
        self._index = NoIndex("", "building")
        threading.Thread(target=self._load, name="flashgrep-start", daemon=True).start()

    def settle(self) -> None:
        self._settled.set()

    def _load(self) -> None:
        from flashgrep.index.workspace_index import WorkspaceIndex

        try:
            index = WorkspaceIndex(*self._parts, self._settled.is_set)
            self._index = index
            index.start()
        except OSError as error:
            reason = f"the workspace cannot be watched: {error}"
            log.warning("%s; searching without an index", reason)
            self._index = NoIndex(reason)
        finally:
            self._there.set()

    def _waited(self) -> Index:
        """The index, once it is there; what is known of it without waiting is asked of `_index`."""
        if self._begun:
            self._there.wait(limits.INDEX_WAIT_SECONDS)
        return self._index

    def close(self) -> None:
        if self._begun:
            self._there.wait()
        index, self._index = self._index, NoIndex("closed")
        index.close()

    def status(self) -> Status:
        return self._index.status()

    def is_ready(self) -> bool:
        return self._index.is_ready()

    def search(
        self, where: Place, question: SearchQuestion, cancelled: Flag, report: Report
    ) -> SearchResult | None:
        return self._waited().search(where, question, cancelled, report)

    def files(self, stopped: Callable[[], bool]) -> list[str] | None:
        return self._waited().files(stopped)

    def tree(self, root: bytes) -> tuple[Iterable[Entry], Iterable[str]] | None:
        return self._waited().tree(root)

    def ranked(
        self, text: str, keeps: Callable[[str], bool], stopped: Callable[[], bool]
    ) -> list[RankedFile] | None:
        return self._waited().ranked(text, keeps, stopped)
