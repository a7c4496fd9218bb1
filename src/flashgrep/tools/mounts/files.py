"""The files of the workspace as a mount."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from flashgrep.errors import AccessDenied, Conflict, InvalidParams, NotFound
from flashgrep.mount import DocumentLinks, Entries, SearchedTree, StringEdit, Use
from flashgrep.tools.change_text import Current, apply_edit, change, overwrite, require_file_name
from flashgrep.tools.dispatch.caller import remember, shown_root
from flashgrep.tools.dispatch.spec import Budget
from flashgrep.tools.format import source
from flashgrep.tools.format.numbered import list_directory
from flashgrep.tools.format.source import Seen, Source
from flashgrep.tools.mounts.missing import missing
from flashgrep.tools.mounts.points import NOTES, Asked, MountPoint
from flashgrep.workspace import names
from flashgrep.workspace.find import Finder, FindRequest
from flashgrep.workspace.scope import ResolvedPath
from flashgrep.workspace.text import is_text

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.caller import Caller
    from flashgrep.tools.dispatch.spec import Answer
    from flashgrep.tools.dispatch.toolbox import Call

CHANGED = (
    "File has been modified since read, either by the user or by a linter. Read it again before "
    "attempting to write it."
)


class Files:
    """The workspace, for one call."""

    sorted_by = "modified"

    def __init__(self, call: Call) -> None:
        self._call = call

    def resolve(self, given: str | None, use: Use) -> ResolvedPath:
        """Where a path leads, links followed; a new file's may not end in a slash."""
        if use == "new" and given is not None:
            require_file_name(given)
        return self._call.services.scope.place("." if given is None else given)

    def shown(self, path: ResolvedPath) -> str:
        return path.shown

    def is_folder(self, path: ResolvedPath) -> bool:
        return self._call.services.scope.kind(path) == "directory"

    def outline(self, path: ResolvedPath, chars: int) -> str:
        """Two levels of a directory."""
        return list_directory(
            self._call.services.scope, path, Budget(chars), lambda: bool(self._call.cancelled)
        )

    # ── finding ─────────────────────────────────────────────────────────────────────────────────

    def anchors(self, path: ResolvedPath) -> Sequence[str]:
        """An absolute pattern below a directory means the same as its relative rest."""
        return (os.fsdecode(path.path),)

    def list(self, path: ResolvedPath, wanted: FindRequest, by: str) -> Entries:
        """Found among what the index knows, or else by a walk."""
        scope, index = self._call.services.scope, self._call.services.index
        kind = scope.kind(path)
        if kind is None:
            raise NotFound(f"Path not found: {path.shown}")
        if kind != "directory":
            raise InvalidParams(f"{path.shown} is not a directory; glob searches below a directory")
        remember(self._call.caller, scope, path)
        finder = Finder(scope, path.path, wanted, lambda: bool(self._call.cancelled))
        by_walk = wanted.directories or wanted.follow_symlinks or not wanted.respect_gitignore
        tree = None if by_walk else index.tree(path.path)
        finding = finder.run() if tree is None else finder.among(*tree)
        return Entries(finding.entries, finding.skipped, names.shown_path)

    def search(self, path: ResolvedPath, given: str | None, view: str | None) -> SearchedTree:
        """Files below a directory, or one file, which the answer names as the caller did."""
        _refuse_view(view)
        scope = self._call.services.scope
        kind = scope.kind(path)
        search = partial(self._call.services.search.search, path)
        if kind == "file":
            return SearchedTree(
                search,
                label=lambda paths: [given or "." for _ in paths],
                label_skipped=names.shown_path,
                why_empty=lambda: self._why_empty(path),
            )
        if kind == "directory":
            remember(self._call.caller, scope, path)
        return SearchedTree(
            search,
            label=names.shown_paths,
            label_skipped=names.shown_path,
            order="newest",
            root=shown_root(scope, path),
        )

    def _why_empty(self, path: ResolvedPath) -> str:
        # Silent in a walk, as documented; but who names a file must not take this for "no match".
        with self.read(path) as source:
            if is_text(source.head):
                return ""
        return f"{path.shown} is a binary file and was not searched"

    # ── documents ───────────────────────────────────────────────────────────────────────────────

    def read(self, path: ResolvedPath, view: str | None = None) -> Source:
        """Open a file; a missing one is refused with a suggestion."""
        _refuse_view(view)
        call = self._call
        try:
            return Source(call.services.scope, path, call.settings.max_file_size, call.caller)
        except NotFound:
            raise missing(call.services.scope, path, call.caller.searched) from None

    def edit(self, path: ResolvedPath, edit: StringEdit) -> str:
        return apply_edit(self._call, path, edit)

    def write(self, path: ResolvedPath, data: bytes, must_be_read: bool) -> bool:
        if not must_be_read:
            return overwrite(self._call, path, data)
        existed = False

        def make(current: Current | None) -> bytes:
            nonlocal existed
            existed = current is not None
            if current is not None:
                self._require_read(path, current)
            return data

        change(self._call, path, make)
        return existed

    def _require_read(self, path: ResolvedPath, current: Current) -> None:
        seen = source.judge(self._call.caller, path, current.data, current.status)
        if seen is Seen.NEVER:
            raise source.not_read(path.shown)
        if seen is Seen.CHANGED:
            raise Conflict(CHANGED)

    def links(self, path: ResolvedPath) -> DocumentLinks:
        raise InvalidParams(f"{path.shown} is a file, and files have no links; name a note")


class FilesPoint(MountPoint):
    """Where the workspace is mounted: paths without a prefix."""

    def admit(self, caller: Caller) -> None:
        """Refuse a caller whose token is one of the knowledge base's."""
        if caller.notes_only:
            raise AccessDenied(
                f"the token {caller.token} is for notes, not for files; "
                f"name a note ({NOTES}Folder/Note.md) or {NOTES} for all of them"
            )

    def answer(self, asked: Asked, call: Call) -> Answer:
        call.opened = Files(call)
        return asked.run(call)


def _refuse_view(view: str | None) -> None:
    if view is not None:
        raise InvalidParams(f"view is for notes ({NOTES}Folder/Note.md); files have one view only")
