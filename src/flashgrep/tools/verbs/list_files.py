"""list_files: every file a search of the workspace looks at, in walk order."""

from __future__ import annotations

from typing import Any

from flashgrep.search.result import walk_key
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
    files, skipped = listed_files(call)
    if keeps is not None:
        files = [name for name in files if keeps.keeps(name)]
    offset: int = arguments.get("offset")
    limit: int | None = arguments.get("limit")
    asked = files[offset : None if limit is None else offset + limit]
    page = fitting(map(shown_path, asked), json_room(call.output_chars))
    following = offset + len(page)
    answer: dict[str, Any] = {
        "files": page,
        "total": len(files),
        "next_offset": following if following < len(files) and page else None,
    }
    return json_answer(answer | skipped_rows(skipped))


def listed_files(call: Call) -> tuple[list[str], list[tuple[str, str]]]:
    """The names of all files, and what of the tree could not be looked into."""
    scope = call.services.scope
    root = scope.place(".")
    known = call.services.index.files(call.cancelled.is_set)
    if known is not None:
        return known, []
    # Links are followed as grep follows them: a directory outside once, at the first link to it.
    finder = Finder(scope, root.path, FindRequest(follow_symlinks=True), call.cancelled.is_set)
    finding = finder.run()
    names = [entry.shown for entry in finding.entries]
    names.sort(key=walk_key)
    return names, finding.skipped


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
