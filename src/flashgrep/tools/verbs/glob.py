"""glob: find files and directories by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flashgrep import limits
from flashgrep.errors import InvalidParams
from flashgrep.mount import Entries
from flashgrep.tools.dispatch.call import Answer, Budget
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec, page_rows
from flashgrep.workspace.find import FindRequest
from flashgrep.workspace.globs import Glob, NameFilter, compile_glob

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.call import Call
    from flashgrep.tools.dispatch.spec import Arguments

EMPTY = "No files found"
_DESCENDING = ("modified", "size")
_PASSED_ON = ("max_depth", "include_hidden", "follow_symlinks", "respect_gitignore")

DESCRIPTION = """\
Find files by name, newest first.
- pattern is a glob: "*.py" matches at any depth, "src/**/*.{ts,tsx}" by path; ** crosses \
directories, * and ? do not.
- .gitignore is respected; .git and node_modules are left out.
- exclude, extensions, max_depth and include_hidden narrow the walk; sort_by, limit and offset \
order and page the result. One path per line, relative to path."""


def run(call: Call, arguments: Arguments) -> Answer:
    """Find, sort, page."""
    target = call.target(arguments.get("path"), "tree")
    wanted = _wanted(arguments, target.mount.anchors(target.path))
    by = arguments.get("sort_by") if "sort_by" in arguments.given else target.mount.sorted_by
    return _answer(call, arguments, target.mount.list(target.path, wanted, by), by)


def _wanted(arguments: Arguments, anchors: Sequence[str]) -> FindRequest:
    """What to find below a folder, one of whose names may begin the pattern."""
    get = arguments.get
    case_sensitive: bool = get("case_sensitive")
    extensions = _extensions(get("extensions"), case_sensitive)
    pattern = _pattern(get("pattern"), anchors, case_sensitive)
    if pattern is None and not extensions:
        raise InvalidParams("Missing required parameter: pattern (or extensions)")
    wanted = FindRequest(
        pattern=pattern,
        directories=get("type") == "directory",
        exclude=NameFilter(get("exclude")) if get("exclude") else None,
        extensions=extensions,
        case_sensitive=case_sensitive,
        **{name: get(name) for name in _PASSED_ON},
    )
    _check_together(wanted, arguments)
    return wanted


def _pattern(text: str | None, anchors: Sequence[str], case_sensitive: bool) -> Glob | None:
    if text is None:
        return None
    for anchor in anchors:
        root = anchor.rstrip("/")
        if len(text) > len(root) + 1 and text.startswith(root + "/"):
            text = text[len(root) :]  # with its slash: it is anchored
            break
    return compile_glob(text, case_sensitive=case_sensitive)


def _extensions(given: list[str] | None, case_sensitive: bool) -> frozenset[str]:
    found = set()
    for text in given or ():
        extension = text.removeprefix(".")
        if not extension or any(mark in extension for mark in "/*?[{\0"):
            raise InvalidParams(f'extensions: {text!r} is not an extension; write "py" or ".py"')
        found.add(extension if case_sensitive else extension.lower())
    return frozenset(found)


def _check_together(wanted: FindRequest, arguments: Arguments) -> None:
    """Refuse options that cannot both be meant, naming both."""
    pattern = wanted.pattern
    if "sort_order" in arguments.given and "sort_by" not in arguments.given:
        raise InvalidParams("sort_order needs sort_by: say what to sort by")
    if pattern is None:
        return
    if wanted.max_depth is not None and wanted.max_depth < len(pattern.fixed_prefix):
        raise InvalidParams(
            f"max_depth {wanted.max_depth} ends above where pattern {pattern.pattern!r} begins "
            f"(depth {len(pattern.fixed_prefix)}); raise max_depth or give path"
        )
    if not wanted.include_hidden and pattern.names_hidden:
        raise InvalidParams(
            f"include_hidden is false, but pattern {pattern.pattern!r} names a hidden entry"
        )
    demanded, last = pattern.extensions, {text.rpartition(".")[2] for text in wanted.extensions}
    if wanted.extensions and demanded is not None and not demanded & last:
        raise InvalidParams(
            f"extensions {sorted(wanted.extensions)} and pattern {pattern.pattern!r} exclude "
            "each other; drop one of them"
        )


def _answer(call: Call, arguments: Arguments, found: Entries, by: str) -> Answer:
    label = found.label
    offset, order = arguments.get("offset"), arguments.get("sort_order")
    is_descending = order == "desc" if order else by in _DESCENDING
    page = found.page(by, is_descending, offset, arguments.get("limit"))
    budget = Budget(call.output_chars)
    paths = []
    for entry in page:
        path = label(entry.shown)
        if not budget.take(path):
            break
        paths.append(path)
    total, following = found.total, offset + len(paths)
    is_cut = bool(paths) and following < total
    lines = []
    if not total:
        lines += [EMPTY, *_why_empty(arguments.get("pattern"))]
    elif not page:
        lines.append(f"(no more results: offset {offset}, {total} in total)")
    elif is_cut:
        lines.append(f"(showing {len(paths):,} of {total:,}; next: offset {following})")
    structured: dict[str, Any] = {
        "paths": paths,
        "total": total,
        "truncated": is_cut,
        "next_offset": following if is_cut else None,
    }
    if found.skipped:
        lines.append(_skips(found))
        structured["skipped"] = [[label(name), reason] for name, reason in found.skipped]
    return Answer(budget.text("\n".join(lines)), structured=structured, data=structured)


def _why_empty(pattern: str | None) -> list[str]:
    if pattern is None or not pattern.startswith("/"):
        return []
    return [
        f"(the / that {limits.shortened(pattern)!r} begins with is the searched directory; "
        "to search another one, give it as path)"
    ]


def _skips(found: Entries) -> str:
    name, reason = min(found.skipped)
    return f"({len(found.skipped)} not read: {found.label(name)}: {reason})"


SPEC = ToolSpec(
    name="glob",
    title="Find files by name",
    description=DESCRIPTION,
    handler=run,
    direct=True,
    parameters=(
        Parameter(
            "pattern", "string", 'The glob, e.g. "**/*.py"; required without extensions', leads=True
        ),
        Parameter(
            "path",
            "string",
            "Directory to search; the working directory if absent",
            aliases=("file_path",),
        ),
        Parameter("type", "string", "What to find", choices=("file", "directory"), default="file"),
        Parameter("exclude", "strings", "Globs to leave out", on_names=True),
        Parameter("extensions", "strings", 'Only these extensions, e.g. ["py", "pyi"]'),
        Parameter(
            "max_depth", "integer", "How deep to go; 0 = the directory's own entries", minimum=0
        ),
        Parameter("include_hidden", "boolean", "Include names that begin with a dot", default=True),
        Parameter(
            "sort_by",
            "string",
            "What to sort by",
            choices=("modified", "name", "path", "size"),
            default="modified",
        ),
        Parameter(
            "sort_order",
            "string",
            "desc is the default for modified and size, asc for name and path",
            choices=("asc", "desc"),
        ),
        *page_rows("results", 100),
        Parameter("case_sensitive", "boolean", "Match case", default=True),
        Parameter("follow_symlinks", "boolean", "Enter links to directories", default=False),
        Parameter("respect_gitignore", "boolean", "Leave out ignored files", default=True),
    ),
)
