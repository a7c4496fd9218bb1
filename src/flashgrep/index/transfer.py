"""What a terminal asks of `update.transfer`: write an index to a file, or start one from a file."""

from __future__ import annotations

import os

from flashgrep.errors import Unavailable
from flashgrep.index.format.store import Store
from flashgrep.index.git.repository import repository_of
from flashgrep.index.index import StartingIndex
from flashgrep.index.update.transfer import Report, Transferred, export_view, import_into
from flashgrep.index.workspace_index import WorkspaceIndex
from flashgrep.workspace.scope import Scope


def export_index(index: StartingIndex, scope: Scope, target: str, report: Report) -> Transferred:
    """Write an index that is ready to a file."""
    loaded = index.loaded
    view = loaded.view if isinstance(loaded, WorkspaceIndex) else None
    if view is None:
        raise Unavailable("the index is not ready; try again in a moment")
    return export_view(view, target, _hash_name(scope), report)


def import_index(index: StartingIndex, scope: Scope, source: str, report: Report) -> Transferred:
    """Replace an index that no server has open with one from a file or a URL."""
    store = Store(*index.place, os.fsdecode(scope.workdir))
    return import_into(store, source, _hash_name(scope), report)


def _hash_name(scope: Scope) -> str:
    repository = repository_of(scope.workdir)
    return "sha1" if repository is None else repository.hash_name
