"""What the rest of the server may ask of the index, even before it exists or if there is none."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from flashgrep import limits
from flashgrep.ranking.question import RankedFile
from flashgrep.workspace.scope import ResolvedPath, Scope

if TYPE_CHECKING:
    from flashgrep.index.watch.first_listing import FirstListing
    from flashgrep.mount import Entries
    from flashgrep.search.pattern import PatternSpec
    from flashgrep.search.result import Report, SearchQuestion, SearchResult
    from flashgrep.search.scan.fair_queue import CancelFlag
    from flashgrep.search.scan.pool import Pool
    from flashgrep.workspace.find import FindRequest
    from flashgrep.workspace.globs import NameFilter

log = logging.getLogger(__name__)

Stopped = Callable[[], bool]
Keeps = Callable[[str], bool]
State = Literal["building", "ready", "off"]
Freshness = Literal["watching", "sweeping"]

BUILT_ELSEWHERE: Final = "another server builds the index"
"""The reason of an index that is not there yet and needs nothing but time."""


@dataclass(frozen=True)
class IndexStatus:
    """The index's progress in numbers."""

    state: State = "off"
    grep_ready: bool = False
    query_ready: bool = False
    progress: float = 0.0
    total_files: int = 0
    total_chunks: int = 0
    index_size_bytes: int = 0
    last_update: float | None = None
    """Seconds since the epoch; None where nothing was ever built."""
    freshness: Freshness = "sweeping"
    reason: str = ""
    """Why it is off, or not growing, for a person to read."""


class Index:
    """The index of a workspace; this one knows nothing, and leaves every question to the disk."""

    def start(self) -> None:
        """Begin to load, to watch and to build."""

    def close(self) -> None:
        """Stop working in the background."""

    def status(self) -> IndexStatus:
        """How far it is."""
        return IndexStatus()

    def is_ready(self) -> bool:
        """Whether it could answer a search now, without waiting."""
        return False

    def is_brief(self, pattern: PatternSpec, is_page: bool) -> bool:
        """Whether a search for something, or a page of it, is likely to be over in a moment."""
        return False

    def search(
        self, where: ResolvedPath, question: SearchQuestion, cancelled: CancelFlag, report: Report
    ) -> SearchResult | None:
        """Search below a directory; None where the disk has to be searched."""
        return None

    def files(self, keeps: NameFilter | None, stopped: Stopped) -> Entries | None:
        """Every file a search of the workspace looks at, if a filter keeps it.

        None where the index cannot say: then a walk has to.
        """
        return None

    def found(self, root: bytes, wanted: FindRequest, stopped: Stopped) -> Entries | None:
        """What is wanted of the files below a directory.

        None where the index cannot say: then a walk has to.
        """
        return None

    def ranked(self, text: str, keeps: Keeps, stopped: Stopped) -> list[RankedFile] | None:
        """The files that answer a query's text and pass a filter on their path, best first.

        None where the index cannot say: then a scan has to.
        """
        return None


class NoIndex(Index):
    """An index that will never be there, and why."""

    def __init__(self, reason: str = "switched off", state: State = "off") -> None:
        self._status = IndexStatus(state, reason=reason)

    def status(self) -> IndexStatus:
        return self._status


@dataclass(frozen=True)
class Ahead:
    """A listing of the workspace that began before the index was loaded."""

    first: FirstListing

    def close(self) -> None:
        """End it: there will be no index."""
        self.first.close()


def list_ahead(scope: Scope, directory: Path, shared: Path | None) -> Ahead | None:
    """Begin to list a large tree that was indexed before; None where it is not.

    Its index is in `directory`; `shared` is where trees of one repository keep their segments.
    """
    from flashgrep.index.watch.first_listing import FirstListing

    first = FirstListing(scope, directory, shared)
    return Ahead(first) if first.begin() else None


class StartingIndex(Index):
    """An index that loads beside the server; until it is ready, searches go without.

    The tree must be listed before an earlier server's index can be used, and the index's own
    libraries take as long to import. So other processes start listing at once, and this one helps
    once its imports are done.
    """

    def __init__(
        self,
        scope: Scope,
        directory: Path,
        pool: Pool,
        shared: Path | None = None,
        ahead: Ahead | None = None,
    ) -> None:
        """`shared` is where trees of one repository keep their segments."""
        self._parts = (scope, directory, pool, shared)
        self._index: Index = NoIndex("not started")
        self._begun = False
        self._first = None if ahead is None else ahead.first
        self._there = threading.Event()

    @property
    def place(self) -> tuple[Path, Path | None]:
        """The directory of the tree's index, and that of shared segments."""
        return self._parts[1], self._parts[3]

    @property
    def loaded(self) -> Index:
        """The index itself, once it is there."""
        return self._waited()

    def start(self) -> None:
        self._begun = True
        self._index = NoIndex("", "building")
        threading.Thread(target=self._load, name="flashgrep-start", daemon=True).start()

    def _load(self) -> None:
        first = self._first
        if first is not None:
            first.look_after()
        from flashgrep.index.workspace_index import WorkspaceIndex

        if first is not None:
            first.help()
        try:
            index = WorkspaceIndex(*self._parts, first)
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
        if self._first is not None:
            self._first.stop()
        if self._begun:
            self._there.wait()
        elif self._first is not None:
            self._first.close()
        index, self._index = self._index, NoIndex("closed")
        index.close()

    def status(self) -> IndexStatus:
        return self._index.status()

    def is_ready(self) -> bool:
        return self._index.is_ready()

    def is_brief(self, pattern: PatternSpec, is_page: bool) -> bool:
        return self._index.is_brief(pattern, is_page)

    def search(
        self, where: ResolvedPath, question: SearchQuestion, cancelled: CancelFlag, report: Report
    ) -> SearchResult | None:
        return self._waited().search(where, question, cancelled, report)

    def files(self, keeps: NameFilter | None, stopped: Stopped) -> Entries | None:
        return self._waited().files(keeps, stopped)

    def found(self, root: bytes, wanted: FindRequest, stopped: Stopped) -> Entries | None:
        return self._waited().found(root, wanted, stopped)

    def ranked(self, text: str, keeps: Keeps, stopped: Stopped) -> list[RankedFile] | None:
        return self._waited().ranked(text, keeps, stopped)
