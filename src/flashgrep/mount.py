"""What a verb may ask of a tree of documents, whatever the tree is made of.

A `Mount` is such a tree as one call sees it: files of the workspace, notes, or, in a test, a
dictionary. A verb turns its path argument into a `Target` and asks that; it never learns how the
documents are named, where they are kept or who owns them. Refusals and confirmations that name a
document are written by its mount, in the words of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from flashgrep.errors import InvalidParams
from flashgrep.search.result import walk_key

if TYPE_CHECKING:
    from flashgrep.search.result import Order, Report, SearchQuestion, SearchResult
    from flashgrep.search.scan.fair_queue import CancelFlag
    from flashgrep.workspace.find import FindRequest, FoundEntry

Use = Literal["document", "either", "tree", "new"]
"""What a verb wants a path to be: a document, a document or a folder, everything below it, or a
document that may have to be made."""

P = TypeVar("P")
"""A path as its mount knows it."""


@dataclass(frozen=True)
class StringEdit:
    """A string to replace in a document, and the caller's verb's names for its arguments."""

    old: str
    new: str
    replace_all: bool
    word: str
    new_word: str
    fold_quotes: bool
    needs_read: bool
    """Whether a document that the caller has not read is refused."""


@dataclass
class Entries:
    """What is below a folder, by paths relative to it."""

    entries: Sequence[FoundEntry]
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """What could not be read, with the reason."""
    label: Callable[[str], str] = str
    """Names an entry as answers print it."""

    @property
    def total(self) -> int:
        """How many they are."""
        return len(self.entries)

    def page(
        self, by: str, is_descending: bool, offset: int, limit: int | None
    ) -> Sequence[FoundEntry]:
        """A page of them, sorted by "modified", "size", "name" or "path"."""
        return ordered(self.entries, by, is_descending)[offset : page_end(offset, limit)]

    def paths(self) -> list[str]:
        """All paths in walk order."""
        return [entry.shown for entry in ordered(self.entries, "path", False)]


def page_end(offset: int, limit: int | None) -> int | None:
    """One past the last of a page; None where it reaches to the end."""
    return None if limit is None else offset + limit


def ordered(entries: Sequence[FoundEntry], by: str, is_descending: bool) -> list[FoundEntry]:
    """Sort entries; equal ones are in walk order."""
    keys: dict[str, Callable[[FoundEntry], Any]] = {
        "modified": lambda entry: entry.modified,
        "size": lambda entry: entry.size,
        "name": lambda entry: walk_key(entry.shown.rpartition("/")[2]),
        "path": lambda entry: walk_key(entry.shown),
    }
    # Equal ones stay in path order, descending too: sorted() keeps their order either way.
    in_walk_order = sorted(entries, key=keys["path"])
    return sorted(in_walk_order, key=keys[by], reverse=is_descending)


@dataclass(frozen=True)
class SearchedTree:
    """What is searched, and how an answer names what it finds there."""

    search: Callable[[SearchQuestion, CancelFlag, Report], SearchResult]
    label: Callable[[list[str]], list[str]]
    """Found paths as the answer names them, many at once."""
    label_skipped: Callable[[str], str]
    order: Order = "walk"
    """Of an answer that lists files."""
    root: str = ""
    """What paths are relative to, as `read` accepts it; "" if they are not."""
    kind: str = "file"
    """What a document is called."""
    why_empty: Callable[[], str] = lambda: ""
    """A reason for an empty result that the caller may not expect; "" if there is none."""


@dataclass(frozen=True)
class DocumentLinks:
    """Where a document's links lead, and what links to it, as rows of an answer."""

    shown: str
    outgoing: list[dict[str, Any]]
    backlinks: list[dict[str, Any]]
    skipped: list[list[str]]


class Document(Protocol):
    """A document opened for reading; methods that are not overridden suit a small text."""

    shown: str
    """Its path as answers print it."""
    name: str
    """Its own name; the ending of some says what kind they are."""
    head: bytes = b""
    """Its first bytes, which show its kind; empty for one that is always text."""

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return len(self.whole())

    def require_size(self, what: str) -> None:
        """Refuse a document over the size limit, naming it as `what`."""
        return

    def whole(self) -> bytes:
        """All its bytes."""
        ...

    def text_chunks(self, keep_odd: bool = False) -> Iterator[str]:
        """Its text in pieces; with `keep_odd`, bytes that are not UTF-8 come as surrogates."""
        yield self.whole().decode("utf-8", "surrogateescape" if keep_odd else "replace")

    def trailer(self, first: int, room: int) -> str:
        """What an answer that begins at line `first` says after the lines; "" for nothing."""
        return ""

    def was_shown(self) -> None:
        """The caller has read it now."""
        return


class Mount(Protocol[P]):
    """A tree of documents, as the caller of one call sees it.

    Methods that are not overridden suit a tree that is only read and searched.
    """

    sorted_by: str = "path"
    """How a listing is sorted unless the caller says otherwise: "modified" or "path"."""

    def resolve(self, given: str | None, use: Use) -> P:
        """The path an argument names; None names the whole tree. No document need be there."""
        ...

    def shown(self, path: P) -> str:
        """A path as answers print it."""
        ...

    def is_folder(self, path: P) -> bool:
        """Whether a folder is there."""
        ...

    def outline(self, path: P, chars: int) -> str:
        """A folder's entries as `view` shows them, in so many characters; 0 for any number."""
        raise InvalidParams(f"{self.shown(path)} is a folder; list it with glob")

    def anchors(self, path: P) -> Sequence[str]:
        """The names of a folder that may begin a glob without changing its meaning."""
        return (self.shown(path),)

    def list(self, path: P, wanted: FindRequest, by: str) -> Entries:
        """What is wanted below a folder, each entry with what it is sorted `by`."""
        ...

    def search(self, path: P, given: str | None, view: str | None) -> SearchedTree:
        """What is to be searched below a folder, or in one document.

        `given` is how the caller named it; `view` is one of the documents' views, where they have
        several.
        """
        ...

    def read(self, path: P, view: str | None = None) -> AbstractContextManager[Document]:
        """Open a document; `view` is one of its views, where it has several."""
        ...

    def edit(self, path: P, edit: StringEdit) -> str:
        """Replace a string in a document; what was done, for the answer."""
        raise InvalidParams(f"{self.shown(path)} cannot be changed")

    def write(self, path: P, data: bytes, must_be_read: bool) -> bool:
        """Give a document these bytes; whether there was one.

        With `must_be_read`, one that is there must have been read and be unchanged since.
        """
        raise InvalidParams(f"{self.shown(path)} cannot be changed")

    def links(self, path: P) -> DocumentLinks:
        """Where a document's links lead, and what links to it."""
        raise InvalidParams(f"{self.shown(path)} has no links; name a note")


@dataclass(frozen=True)
class Target(Generic[P]):
    """What a path argument names: a path in a mount."""

    mount: Mount[P]
    path: P

    @property
    def shown(self) -> str:
        """The path as answers print it."""
        return self.mount.shown(self.path)
