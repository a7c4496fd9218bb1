"""list_files: every file a search of the workspace looks at, in walk order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flashgrep.mount import Entries
from flashgrep.tools.dispatch.call import (
    Answer,
    Call,
    fitting,
    json_answer,
    json_room,
    skipped_rows,
)
from flashgrep.tools.dispatch.spec import Arguments, Parameter, ToolSpec, page_rows
from flashgrep.workspace.find import Finder, FindRequest
from flashgrep.workspace.globs import NameFilter
from flashgrep.workspace.scope import shown_path


def list_files(call: Call, arguments: Arguments) -> Answer:
    """List, filter, page."""
    pattern = arguments.get("pattern")
    keeps = None if pattern is None else NameFilter(pattern)
    files = listed_files(call, keeps)
    offset: int = arguments.get("offset")
    limit: int | None = arguments.get("limit")
    room = json_room(call.output_chars)
    if limit is None and room is not None:
        limit = max(1, room)  # no more can be shown: a name takes a character at least
    page = fitting(_page(files, offset, limit), room)
    following = offset + len(page)
    answer: dict[str, Any] = {
        "files": page,
        "total": files.total,
        "next_offset": following if following < files.total and page else None,
    }
    return json_answer(answer | skipped_rows(files.skipped))


def _page(files: Entries, offset: int, limit: int | None) -> Iterable[str]:
    if limit is None:
        return map(shown_path, files.paths()[offset:])
    return (shown_path(entry.shown) for entry in files.page("path", False, offset, limit))


def listed_files(call: Call, keeps: NameFilter | None = None) -> Entries:
    """All files that a filter keeps, and the parts of the tree that could not be read."""
    scope = call.services.scope
    root = scope.place(".")
    known = call.services.index.files(keeps, call.cancelled.is_set)
    if known is not None:
        return known
    # Links are followed as grep follows them: a directory outside once, at the first link to it.
    finder = Finder(scope, root.path, FindRequest(follow_symlinks=True), call.cancelled.is_set)
    finding = finder.run()
    kept = [entry for entry in finding.entries if keeps is None or keeps.keeps(entry.shown)]
    return Entries(kept, finding.skipped)


SPEC = ToolSpec(
    name="list_files",
    title="List files",
    description=(
        "Every file of the workspace that a search looks at (.gitignore is respected; .git and "
        "node_modules are left out), as JSON: files, total, next_offset. pattern keeps the files "
        "that match a glob; limit and offset page. To find files by name and age, use glob."
    ),
    parameters=(
        Parameter("pattern", "string", 'Only files matching this glob, e.g. "src/**/*.py"'),
        *page_rows("files"),
    ),
    handler=list_files,
    toolset="index",
)
