"""The answer to a path that leads nowhere: where we looked, and what was perhaps meant."""

from __future__ import annotations

import difflib
import os
from collections import deque

from flashgrep import limits
from flashgrep.errors import FlashgrepError, NotFound
from flashgrep.tools.dispatch.caller import below
from flashgrep.workspace import names
from flashgrep.workspace.scope import ResolvedPath, Scope


def missing(scope: Scope, place: ResolvedPath, searched: ResolvedPath | None = None) -> NotFound:
    """`File does not exist.`, the working directory, and a near name that may be reached.

    What the caller searched last comes first: the path is likely one of that answer.
    """
    near = below(scope, searched, place) or suggestion(scope, place)
    hint = f" Did you mean {near}?" if near else ""
    return NotFound(
        f"File does not exist. {place.shown} was not found; the current working directory is "
        f"{names.shown(scope.workdir)}.{hint}"
    )


def suggestion(scope: Scope, place: ResolvedPath) -> str | None:
    """A name like the missing one beside it, or the same name nearby; never a denied one."""
    parent, _, name = place.path.rpartition(b"/")
    return _beside(scope, parent or b"/", name) or _nearby(scope, name)


def _beside(scope: Scope, parent: bytes, name: bytes) -> str | None:
    known = {names.shown(entry): entry for entry, _ in _entries(scope, parent)}
    lowered = {text.lower(): text for text in known}
    close = difflib.get_close_matches(names.shown(name).lower(), lowered, 1, 0.6)
    return _shown(scope, os.path.join(parent, known[lowered[close[0]]])) if close else None


def _nearby(scope: Scope, name: bytes) -> str | None:
    """Breadth first from the working directory, so that the nearest one is found."""
    waiting = deque([scope.workdir])
    looked = 0
    while waiting and looked < limits.SUGGESTION_ENTRIES:
        directory = waiting.popleft()
        for entry, is_directory in _entries(scope, directory):
            looked += 1
            path = os.path.join(directory, entry)
            if entry == name and not is_directory:
                return _shown(scope, path)
            if is_directory and entry not in (b".git", b"node_modules"):
                waiting.append(path)
    return None


def _entries(scope: Scope, directory: bytes) -> list[tuple[bytes, bool]]:
    """Reachable entries of a directory, sorted, and whether each is a directory itself."""
    if not scope.permits(directory):
        return []
    try:
        fd = scope.open_directory(ResolvedPath("", directory))
    except (FlashgrepError, OSError):
        return []
    try:
        with os.scandir(fd) as listed:
            found = [
                (os.fsencode(entry.name), entry.is_dir(follow_symlinks=False))
                for _, entry in zip(range(limits.SUGGESTION_ENTRIES), listed, strict=False)
            ]
    except OSError:
        return []
    finally:
        os.close(fd)
    return sorted(pair for pair in found if _is_reachable(scope, directory, pair[0]))


def _is_reachable(scope: Scope, directory: bytes, name: bytes) -> bool:
    path = os.path.join(directory, name)
    return scope.permits(path) and scope.permits(os.path.realpath(path))


def _shown(scope: Scope, path: bytes) -> str:
    inside = scope.workdir.rstrip(b"/") + b"/"
    return names.shown(path.removeprefix(inside))
