"""What the rest of the server may ask of the index, and the answer where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from flashgrep.index.scoring import RankedFile
from flashgrep.workspace.finding import Entry

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


class Index(Protocol):
    """The index as tools see it."""

    def status(self) -> Status:
        """How far it is."""
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

    def close(self) -> None:
        """Stop working in the background."""
        ...


class NoIndex:
    """A server without an index."""

    def __init__(self, reason: str = "switched off") -> None:
        self._reason = reason

    def status(self) -> Status:
        return Status(reason=self._reason)

    def files(self, stopped: Callable[[], bool]) -> list[str] | None:
        return None

    def tree(self, root: bytes) -> tuple[Iterable[Entry], Iterable[str]] | None:
        return None

    def ranked(
        self,
        text: str,
        keeps: Callable[[str], bool],
        stopped: Callable[[], bool],
    ) -> list[RankedFile] | None:
        return None

    def close(self) -> None:
        return None
