"""What the rest of the server may ask of the index, and the answer where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from flashgrep.index.scoring import RankedFile
from flashgrep.search.result import Searcher
from flashgrep.workspace.finding import Entry
from flashgrep.workspace.scope import Place

if TYPE_CHECKING:
    from flashgrep.search.result import Report, SearchQuestion, SearchResult
    from flashgrep.search.turns import Flag

State = Literal["building", "ready", "off"]
Freshness = Literal["watching", "sweeping"]


@dataclass(frozen=True)
class Status:
    """How far the index is, in numbers."""

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


class Index(Searcher[Place], Protocol):
    """The index of a workspace; `NoIndex` is one that knows nothing."""

    def start(self) -> None:
        """Begin to load, to watch and to build; at full speed once `settle` is called."""
        ...

    def settle(self) -> None:
        """The server is started: nothing else needs this process now."""
        ...

    def close(self) -> None:
        """Stop working in the background."""
        ...

    def status(self) -> Status:
        """How far it is."""
        ...

    def is_ready(self) -> bool:
        """Whether it could answer a search now, without waiting."""
        ...

    def files(self, stopped: Callable[[], bool]) -> list[str] | None:
        """Every file a search of the workspace looks at, in walk order, as names of the tree.

        None where the index cannot say: then a walk has to.
        """
        ...

    def tree(self, root: bytes) -> tuple[Iterable[Entry], Iterable[str]] | None:
        """The files below a directory with size and time, and the links.

        None where the index cannot say: then a walk has to.
        """
        ...

    def ranked(
        self, text: str, keeps: Callable[[str], bool], stopped: Callable[[], bool]
    ) -> list[RankedFile] | None:
        """The files that answer a query's text and pass a filter on their path, best first.

        None where the index cannot say: then a scan has to.
        """
        ...


class NoIndex:
    """No index: every question is left to the disk."""

    def __init__(self, reason: str = "switched off", state: State = "off") -> None:
        self._status = Status(state, reason=reason)

    def start(self) -> None:
        return None

    def settle(self) -> None:
        return None

    def close(self) -> None:
        return None

    def status(self) -> Status:
        return self._status

    def is_ready(self) -> bool:
        return False

    def search(
        self, where: Place, question: SearchQuestion, cancelled: Flag, report: Report
    ) -> SearchResult | None:
        return None

    def files(self, stopped: Callable[[], bool]) -> list[str] | None:
        return None

    def tree(self, root: bytes) -> tuple[Iterable[Entry], Iterable[str]] | None:
        return None

    def ranked(
        self, text: str, keeps: Callable[[str], bool], stopped: Callable[[], bool]
    ) -> list[RankedFile] | None:
        return None
