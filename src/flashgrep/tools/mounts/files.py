"""The files of the workspace as a mount."""

from __future__ import annotations

import difflib
import os
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from flashgrep.errors import AccessDenied, Conflict, FlashgrepError, InvalidParams, NotFound
from flashgrep.mount import Entries, Mount, SearchedTree, StringEdit, Use
from flashgrep.tools.change_text import Current, apply_edit, change, overwrite, require_file_name
from flashgrep.tools.dispatch.call import Budget
from flashgrep.tools.format import source
from flashgrep.tools.format.numbered import list_directory
from flashgrep.tools.format.source import Seen, Source
from flashgrep.tools.mounts.points import NOTES, Asked, MountPoint
from flashgrep.workspace.find import Finder, FindRequest
from flashgrep.workspace.scope import (
    ResolvedPath,
    Scope,
    is_within,
    shown_name,
    shown_path,
    shown_paths,
)
from flashgrep.workspace.text import is_text

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.call import Answer, Call
    from flashgrep.tools.dispatch.caller import Caller
    from flashgrep.tools.dispatch.spec import BriefSearch

_SUGGESTION_ENTRIES: Final = 5_000
"""Names looked at for a "Did you mean" when a path does not exist."""

CHANGED = (
    "File has been modified since read, either by the user or by a linter. Read it again before "
    "attempting to write it."
)

MISSING = "File does not exist. {} was not found"


class Files(Mount[ResolvedPath]):
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
            self._call.services.scope, path, Budget(chars), self._call.cancelled.is_set
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
            raise self._missing(path, "Path not found: {}")
        if kind != "directory":
            raise InvalidParams(f"{path.shown} is not a directory; glob searches below a directory")
        remember(self._call.caller, scope, path)
        stopped = self._call.cancelled.is_set
        by_walk = wanted.directories or wanted.follow_symlinks or not wanted.respect_gitignore
        found = None if by_walk else index.found(path.path, wanted, stopped)
        if found is not None:
            return found
        finding = Finder(scope, path.path, wanted, stopped).run()
        return Entries(finding.entries, finding.skipped, shown_path)

    def search(self, path: ResolvedPath, given: str | None, view: str | None) -> SearchedTree:
        """Files below a directory, or one file, which the answer names as the caller did."""
        _refuse_view(view)
        scope = self._call.services.scope
        kind = scope.kind(path)
        search = partial(self._call.services.search.search, path, kind=kind)
        if kind is None:
            raise self._missing(path, "Path not found: {}")
        if kind == "file":
            return SearchedTree(
                search,
                label=lambda paths: [given or "." for _ in paths],
                label_skipped=shown_path,
                why_empty=lambda: self._why_empty(path),
            )
        if kind == "directory":
            remember(self._call.caller, scope, path)
        return SearchedTree(
            search,
            label=shown_paths,
            label_skipped=shown_path,
            order="newest",
            root=shown_root(scope, path),
        )

    def _why_empty(self, path: ResolvedPath) -> str:
        # Silent in a walk, as documented; a file that is named must not look like "no match".
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
            raise self._missing(path) from None

    def _missing(self, path: ResolvedPath, said: str = MISSING) -> NotFound:
        return missing(self._call.services.scope, path, self._call.caller.searched, said)

    def edit(self, path: ResolvedPath, edit: StringEdit) -> str:
        try:
            return apply_edit(self._call, path, edit)
        except NotFound:
            raise self._missing(path) from None

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
        seen = source.judge(self._call.caller, path.path, current.data, current.status)
        if seen is Seen.NEVER:
            raise source.not_read(path.shown)
        if seen is Seen.CHANGED:
            raise Conflict(CHANGED)


class FilesPoint(MountPoint):
    """Where the workspace is mounted: paths without a prefix."""

    def admit(self, caller: Caller) -> None:
        """Refuse a caller whose token is one of the knowledge base's."""
        if caller.notes_only:
            raise AccessDenied(
                f"the token {caller.token} is for notes, not for files; "
                f"name a note ({NOTES}Folder/Note.md) or {NOTES} for all of them"
            )

    def is_brief(self, sought: BriefSearch, call: Call) -> bool:
        return call.services.index.is_brief(sought.pattern, sought.is_page)

    def answer(self, asked: Asked, call: Call) -> Answer:
        call.mount = Files(call)
        return asked.run(call)


def _refuse_view(view: str | None) -> None:
    if view is not None:
        raise InvalidParams(f"view is for notes ({NOTES}Folder/Note.md); files have one view only")


# ── missing files ────────────────────────────────────────────────────────────────────────────────
# The answer to a path that leads nowhere: where we looked, and what was perhaps meant.


def missing(
    scope: Scope, place: ResolvedPath, searched: ResolvedPath | None, said: str = MISSING
) -> NotFound:
    """The refusal of a path that leads nowhere, with a near one that may be reached.

    What the caller searched last comes first: the path is likely one of that answer.
    """
    near = below(scope, searched, place) or suggestion(scope, place)
    hint = f" Did you mean {near}?" if near else ""
    return NotFound(
        f"{said.format(place.shown)}; the current working directory is "
        f"{shown_name(scope.workdir)}.{hint}"
    )


def suggestion(scope: Scope, place: ResolvedPath) -> str | None:
    """A name like the missing one beside it, or the same name nearby; never a denied one."""
    parent, _, name = place.path.rpartition(b"/")
    return _beside(scope, parent or b"/", name) or _nearby(scope, name)


def _beside(scope: Scope, parent: bytes, name: bytes) -> str | None:
    known = {shown_name(entry): entry for entry, _ in _entries(scope, parent)}
    lowered = {text.lower(): text for text in known}
    close = difflib.get_close_matches(shown_name(name).lower(), lowered, 1, 0.6)
    return _shown(scope, os.path.join(parent, known[lowered[close[0]]])) if close else None


def _nearby(scope: Scope, name: bytes) -> str | None:
    """Breadth first from the working directory, so that the nearest one is found."""
    waiting = deque([scope.workdir])
    looked = 0
    while waiting and looked < _SUGGESTION_ENTRIES:
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
                for _, entry in zip(range(_SUGGESTION_ENTRIES), listed, strict=False)
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
    return shown_name(path.removeprefix(inside))


# ── where it searched ────────────────────────────────────────────────────────────────────────────
# Where a caller searched last: paths in those answers are relative to it, and get taken for paths
# of the working directory.


def shown_root(scope: Scope, root: ResolvedPath) -> str:
    """A directory as a prefix of paths that `read` accepts: as the caller named it where that is
    below the working directory, else in full; "" for the working directory itself."""
    if root.path == scope.workdir:
        return ""
    inside = _inside(scope, _named(root)) or _inside(scope, root.path)
    path = root.path if inside is None else inside
    return shown_name(path.rstrip(b"/")) + "/"


def remember(caller: Caller, scope: Scope, root: ResolvedPath) -> None:
    """Remember the root of the answer that is being made."""
    caller.searched = None if root.path == scope.workdir else root


def below(scope: Scope, root: ResolvedPath | None, missing: ResolvedPath) -> str | None:
    """The missing path below the root of the last search, if something is there; else None."""
    rest = _inside(scope, missing.asked)
    if root is None or rest is None:
        return None
    try:
        kind = scope.kind(scope.follow(os.path.join(root.path, rest)))
    except (FlashgrepError, OSError):
        return None
    found = kind in ("file", "directory")
    return shown_root(scope, root) + shown_name(rest) if found else None


def _named(root: ResolvedPath) -> bytes:
    # A `..` after a link leads elsewhere than the text says: then it is the real path.
    parts = root.asked.split(b"/")
    return root.path if b".." in parts else os.path.normpath(root.asked)


def _inside(scope: Scope, path: bytes) -> bytes | None:
    """A path below the working directory, relative to it, as it is written."""
    if path == scope.workdir or not is_within(path, scope.workdir):
        return None
    return path[len(scope.workdir.rstrip(b"/")) + 1 :]
