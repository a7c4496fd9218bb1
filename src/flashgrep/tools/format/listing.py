"""A directory as `view` shows it: two levels, one path a line, directories with a `/`.

Only `.git` and `node_modules` are left out, and what is denied: a link is judged by where it
leads. Subdirectories are opened from their parent's descriptor through no link, so a tree that
changes under the listing cannot lead it elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from flashgrep.errors import AccessDenied, Cancelled, FlashgrepError, from_os_error
from flashgrep.tools.dispatch.budget import Budget
from flashgrep.workspace import names
from flashgrep.workspace.safe_open import DIRECTORY, open_in
from flashgrep.workspace.scope import Place, Scope

LEFT_OUT = (b".git", b"node_modules")
EMPTY = "(empty directory)"


@dataclass
class Listing:
    """A listing under way: what is shown, how much there is, what could not be read."""

    scope: Scope
    budget: Budget
    is_cancelled: Callable[[], bool]
    shown: int = 0
    total: int = 0
    unreadable: list[str] = field(default_factory=list)
    is_full: bool = False

    def add(self, row: str) -> None:
        """Count a row, and show it while there is room."""
        self.total += 1
        if not self.is_full and self.budget.take(row):
            self.shown += 1
        else:
            self.is_full = True

    def footer(self) -> str:
        """What is missing, and how to see it; empty when nothing is."""
        lines = []
        if self.unreadable:
            lines.append(f"({len(self.unreadable)} not readable: {', '.join(self.unreadable[:3])})")
        if self.is_full:
            lines.append(
                f"[PARTIAL view: {self.shown:,} of {self.total:,} entries. Continue with view of "
                "a subdirectory, or with glob, which pages by offset]"
            )
        return "\n".join(lines)


def list_directory(
    scope: Scope, place: Place, budget: Budget, is_cancelled: Callable[[], bool]
) -> str:
    """The entries of a directory and of the directories in it, sorted by name."""
    listing = Listing(scope, budget, is_cancelled)
    fd = scope.open_directory(place)
    try:
        _list(listing, fd, place.path, b"", 2)
    except OSError as error:
        raise from_os_error(error, place.shown) from None
    finally:
        os.close(fd)
    footer = listing.footer()
    return budget.text(footer) if listing.total or footer else EMPTY


def _list(listing: Listing, fd: int, path: bytes, prefix: bytes, levels: int) -> None:
    with os.scandir(fd) as entries:
        found = sorted((os.fsencode(entry.name), entry) for entry in entries)
    for name, entry in found:
        if listing.is_cancelled():
            raise Cancelled("the listing was cancelled")
        _list_entry(listing, fd, os.path.join(path, name), prefix + name, entry, levels)


def _list_entry(
    listing: Listing, fd: int, path: bytes, row: bytes, entry: os.DirEntry[str], levels: int
) -> None:
    if not listing.scope.permits(path):
        return
    if entry.is_symlink():
        _list_link(listing, fd, path, row)
    elif entry.is_dir(follow_symlinks=False):
        if os.path.basename(path) in LEFT_OUT:  # a worktree's .git file is a file like any other
            return
        listing.add(names.shown(row) + "/")
        if levels > 1:
            _list_below(listing, fd, path, row + b"/", levels - 1)
    else:
        listing.add(names.shown(row))


def _list_link(listing: Listing, fd: int, path: bytes, row: bytes) -> None:
    """A link with its target, unless it leads where nothing may be seen."""
    try:
        listing.scope.follow(path)
    except AccessDenied:
        return
    except FlashgrepError:
        pass  # it leads nowhere, and is shown with that
    try:
        target = os.readlink(os.path.basename(path), dir_fd=fd)
    except OSError:
        return  # it is gone, or no link any more
    listing.add(f"{names.shown(row)} -> {names.shown(os.fsencode(target))}")


def _list_below(listing: Listing, fd: int, path: bytes, prefix: bytes, levels: int) -> None:
    try:
        below = open_in(os.path.basename(path), DIRECTORY, dir_fd=fd)
    except FileNotFoundError:
        return  # it vanished after it was listed
    except OSError:
        listing.unreadable.append(names.shown(prefix))
        return
    try:
        _list(listing, below, path, prefix, levels)
    except OSError:
        listing.unreadable.append(names.shown(prefix))
    finally:
        os.close(below)
