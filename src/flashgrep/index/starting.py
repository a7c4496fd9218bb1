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
from flashgrep.index.scoring import RankedFile
from flashgrep.index.status import Status

if TYPE_CHECKING:
    from flashgrep.index.keeper import Keeper
    from flashgrep.index.scan import IndexedScan
    from flashgrep.search.pool import Pool
    from flashgrep.search.result import Report, SearchQuestion
    from flashgrep.search.turns import Flag
    from flashgrep.workspace.finding import Entry
    from flashgrep.workspace.scope import Place, Scope

log = logging.getLogger(__name__)


class StartingIndex:
    """The index of a workspace, there or about to be."""

    def __init__(self, scope: Scope, directory: Path, pool: Pool) -> None:
        self._parts = (scope, directory, pool)
        self._keeper: Keeper | None = None
        self._begun = False
        self._started = threading.Event()
        self._there = threading.Event()
        self._reason = ""

    def start(self) -> None:
        """Begin to load, to watch and to build; at full speed once `settle` is called."""
        self._begun = True
        threading.Thread(target=self._load, name="flashgrep-start", daemon=True).start()

    def settle(self) -> None:
        """The server is started: nothing else needs this process now."""
        self._started.set()

    def _load(self) -> None:
        from flashgrep.index.keeper import Keeper

        try:
            self._keeper = Keeper(*self._parts, self._started.is_set)
            self._keeper.start()
        except OSError as error:
            self._reason = f"the workspace cannot be watched: {error}"
            log.warning("%s; searching without an index", self._reason)
        finally:
            self._there.set()

    def _found(self) -> Keeper | None:
        if self._begun:
            self._there.wait(limits.INDEX_WAIT_SECONDS)
        return self._keeper

    def search(
        self, where: Place, question: SearchQuestion, cancelled: Flag, report: Report
    ) -> IndexedScan | None:
        """Search below a directory; None where the disk has to be searched."""
        keeper = self._found()
        return None if keeper is None else keeper.search(where, question, cancelled, report)

    def is_ready(self) -> bool:
        """Whether it could answer now, without waiting."""
        return self._keeper is not None and self._keeper.is_ready()

    def status(self) -> Status:
        """How far it is."""
        if self._keeper is not None:
            return self._keeper.status()
        if self._begun and not self._reason:
            return Status(state="building")
        return Status(reason=self._reason or "not started")

    def files(self, stopped: Callable[[], bool]) -> list[str] | None:
        """Every file a search looks at, in walk order; None where a walk has to say."""
        keeper = self._found()
        return None if keeper is None else keeper.files(stopped)

    def tree(self, root: bytes) -> tuple[Iterable[Entry], Iterable[str]] | None:
        """The files and links below a directory; None where a walk has to say."""
        keeper = self._found()
        return None if keeper is None else keeper.tree(root)

    def ranked(
        self,
        text: str,
        keeps: Callable[[str], bool],
        stopped: Callable[[], bool],
    ) -> list[RankedFile] | None:
        """The files that answer a question, best first; None where a scan has to say."""
        keeper = self._found()
        return None if keeper is None else keeper.ranked(text, keeps, stopped)

    def close(self) -> None:
        """Stop working in the background."""
        if self._begun:
            self._there.wait()
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None
