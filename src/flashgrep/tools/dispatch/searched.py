"""Where a caller searched last: paths in those answers are relative to it, and get taken for
paths of the working directory."""

from __future__ import annotations

import os

from flashgrep.errors import FlashgrepError
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.workspace import names
from flashgrep.workspace.scope import Place, Scope, is_within


def shown_root(scope: Scope, root: Place) -> str:
    """A directory as a prefix of paths that `read` accepts: as the caller named it where that lies
    below the working directory, else in full; "" for the working directory itself."""
    if root.path == scope.workdir:
        return ""
    inside = _inside(scope, _named(root)) or _inside(scope, root.path)
    path = root.path if inside is None else inside
    return names.shown(path.rstrip(b"/")) + "/"


def remember(caller: Caller, scope: Scope, root: Place) -> None:
    """Note where the answer that is on its way has its root."""
    caller.searched = None if root.path == scope.workdir else root


def below(scope: Scope, root: Place | None, missing: Place) -> str | None:
    """The missing path where it stands below the root of the last search; None if nothing does."""
    rest = _inside(scope, missing.asked)
    if root is None or rest is None:
        return None
    try:
        kind = scope.kind(scope.follow(os.path.join(root.path, rest)))
    except (FlashgrepError, OSError):
        return None
    found = kind in ("file", "directory")
    return shown_root(scope, root) + names.shown(rest) if found else None


def _named(root: Place) -> bytes:
    # A `..` behind a link leads elsewhere than the text says: then the real path is told.
    parts = root.asked.split(b"/")
    return root.path if b".." in parts else os.path.normpath(root.asked)


def _inside(scope: Scope, path: bytes) -> bytes | None:
    """A path relative to the working directory it lies below, as it is written."""
    if path == scope.workdir or not is_within(path, scope.workdir):
        return None
    return path[len(scope.workdir.rstrip(b"/")) + 1 :]
