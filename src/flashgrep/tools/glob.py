"""glob: find files and directories by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flashgrep.errors import InvalidParams, NotFound
from flashgrep.search.request import walk_key
from flashgrep.tools.answer import Answer
from flashgrep.tools.budget import Budget
from flashgrep.tools.grep_answer import printable
from flashgrep.tools.places import SCHEME, is_note, refuse_scheme, scope_path
from flashgrep.tools.registry import Parameter, ToolSpec
from flashgrep.tools.searched import remember
from flashgrep.workspace.finding import Entry, Finder, Finding, Wanted
from flashgrep.workspace.globs import Glob, compile_glob, name_filter
from flashgrep.workspace.scope import Place

if TYPE_CHECKING:
    from flashgrep.tools.arguments import Arguments
    from flashgrep.tools.toolbox import Call

EMPTY = "No files found"
_DESCENDING = ("modified", "size")

DESCRIPTION = """\
Find files by name, newest first.
- pattern is a glob: "*.py" matches at any depth, "src/**/*.{ts,tsx}" by path; ** crosses \
directories, * and ? do not.
- .gitignore is respected; .git and node_modules are left out.
- exclude, extensions, max_depth and include_hidden narrow the walk; sort_by, limit and offset \
order and page the result. One path a line, relative to path."""

NOTES_ALONE = """\
Find notes by name, sorted by path.
- pattern is a glob: "*.md" matches at any depth, "Projects/**/*plan*.md" by path; ** crosses \
folders, * and ? do not.
- path narrows to a folder; exclude and max_depth narrow further; type "directory" finds folders.
- sort_by, limit and offset order and page the result. One path a line, in full, as read accepts \
it."""


def run(call: Call, arguments: Arguments) -> Answer:
    """Find in the workspace, or among the notes."""
    refuse_scheme(call, "exclude", arguments.get("exclude"))
    folder = scope_path(call, _where(arguments))
    if folder is not None:
        from flashgrep.tools.note_glob import find_notes  # with the engine of the notes

        return find_notes(call, arguments, folder)
    place = _root(call, arguments.get("path"))
    remember(call.caller, call.services.scope, place)
    wanted = wanted_of(arguments, os.fsdecode(place.path))
    finder = Finder(call.services.scope, place.path, wanted, lambda: bool(call.cancelled))
    finding = _among_known(call, place, wanted, finder) or finder.run()
    return answer(call, arguments, finding, arguments.get("sort_by"), printable)


def _where(arguments: Arguments) -> str | None:
    """The path; a pattern for notes says itself where it looks."""
    path: str | None = arguments.get("path")
    pattern: str | None = arguments.get("pattern")
    return SCHEME if path is None and pattern and is_note(pattern) else path


def _among_known(call: Call, place: Place, wanted: Wanted, finder: Finder) -> Finding | None:
    """Find among what the index knows; None where only a walk can say."""
    if wanted.directories or wanted.follow_symlinks or not wanted.respect_gitignore:
        return None
    tree = call.services.index.tree(place.path)
    return None if tree is None else finder.among(*tree)


def _root(call: Call, path: str | None) -> Place:
    place: Place = call.services.scope.place("." if path is None else path)
    kind = call.services.scope.kind(place)
    if kind is None:
        raise NotFound(f"Path not found: {place.shown}")
    if kind != "directory":
        raise InvalidParams(f"{place.shown} is not a directory; glob searches below a directory")
    return place


def wanted_of(arguments: Arguments, root: str) -> Wanted:
    """What to find below a root, whose name may stand before the pattern."""
    get = arguments.get
    case_sensitive: bool = get("case_sensitive")
    extensions = _extensions(get("extensions"), case_sensitive)
    pattern = _pattern(get("pattern"), root.rstrip("/"), case_sensitive)
    if pattern is None and not extensions:
        raise InvalidParams("Missing required parameter: pattern (or extensions)")
    wanted = Wanted(
        pattern,
        get("type") == "directory",
        name_filter(get("exclude")) if get("exclude") else None,
        extensions,
        get("max_depth"),
        get("include_hidden"),
        get("follow_symlinks"),
        get("respect_gitignore"),
        case_sensitive,
    )
    _check_together(wanted, arguments)
    return wanted


def _pattern(text: str | None, root: str, case_sensitive: bool) -> Glob | None:
    if text is None:
        return None
    # An absolute pattern below the root means the same as its relative rest.
    if len(text) > len(root) + 1 and text.startswith(root + "/"):
        text = text[len(root) :]  # with its slash: it is anchored
    return compile_glob(text, case_sensitive=case_sensitive)


def _extensions(given: list[str] | None, case_sensitive: bool) -> frozenset[str]:
    found = set()
    for text in given or ():
        extension = text.removeprefix(".")
        if not extension or any(mark in extension for mark in "/*?[{\0"):
            raise InvalidParams(f'extensions: {text!r} is no extension; write "py" or ".py"')
        found.add(extension if case_sensitive else extension.lower())
    return frozenset(found)


def _check_together(wanted: Wanted, arguments: Arguments) -> None:
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


def _sorted(entries: list[Entry], by: str, order: str | None) -> list[Entry]:
    entries.sort(key=lambda entry: _bytes_key(entry.shown))
    keys: dict[str, Any] = {
        "modified": lambda entry: entry.modified,
        "size": lambda entry: entry.size,
        "name": lambda entry: _bytes_key(entry.shown.rpartition("/")[2]),
        "path": lambda entry: _bytes_key(entry.shown),
    }
    descending = order == "desc" if order else by in _DESCENDING
    # Equal ones stay in path order, descending too: sorted() keeps their order either way.
    return sorted(entries, key=keys[by], reverse=descending)


def _bytes_key(shown: str) -> str:
    return walk_key("", shown)


def answer(
    call: Call, arguments: Arguments, finding: Finding, by: str, label: Callable[[str], str]
) -> Answer:
    """Sort, page, show; `label` names what was found."""
    entries = _sorted(finding.entries, by, arguments.get("sort_order"))
    offset = arguments.get("offset")
    page = entries[offset : offset + arguments.get("limit")]
    budget = Budget(call.output_chars)
    paths = []
    for entry in page:
        path = label(entry.shown)
        if not budget.take(path):
            break
        paths.append(path)
    total, following = len(entries), offset + len(paths)
    is_cut = bool(paths) and following < total
    lines = []
    if not total:
        lines.append(EMPTY)
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
    if finding.skipped:
        lines.append(_skips(finding, label))
        structured["skipped"] = [[label(name), reason] for name, reason in finding.skipped]
    return Answer(budget.text("\n".join(lines)), structured=structured, data=structured)


def _skips(finding: Finding, label: Callable[[str], str]) -> str:
    name, reason = min(finding.skipped)
    return f"({len(finding.skipped)} not read: {label(name)}: {reason})"


SPEC = ToolSpec(
    name="glob",
    title="Find files by name",
    description=DESCRIPTION,
    handler=run,
    direct=True,
    parameters=(
        Parameter(
            "pattern",
            "string",
            'The glob, e.g. "**/*.py"; required without extensions',
            leads=True,
            notes_help='The glob, e.g. "Projects/**/*plan*.md"; required without extensions',
        ),
        Parameter(
            "path",
            "string",
            "Directory to search; the working directory if absent",
            aliases=("file_path",),
            notes_help="Folder to search; all notes if absent",
        ),
        Parameter(
            "type",
            "string",
            "What to find",
            choices=("file", "directory"),
            default="file",
            notes_help="What to find: notes (file) or folders (directory)",
        ),
        Parameter("exclude", "strings", "Globs to leave out"),
        Parameter(
            "extensions",
            "strings",
            'Only these extensions, e.g. ["py", "pyi"]',
            notes_help='Only these extensions; every note has "md"',
        ),
        Parameter(
            "max_depth",
            "integer",
            "How deep to go; 0 = the directory's own entries",
            minimum=0,
            notes_help="How deep to go; 0 = the folder's own notes",
        ),
        Parameter("include_hidden", "boolean", "Also names that begin with a dot", default=True),
        Parameter(
            "sort_by",
            "string",
            "What to sort by",
            choices=("modified", "name", "path", "size"),
            default="modified",
            notes_default="path",
        ),
        Parameter(
            "sort_order",
            "string",
            "desc is the default for modified and size, asc for name and path",
            choices=("asc", "desc"),
        ),
        Parameter("limit", "integer", "At most this many results", default=100, minimum=1),
        Parameter("offset", "integer", "Skip this many results first", default=0, minimum=0),
        Parameter("case_sensitive", "boolean", "Match letters by case", default=True),
        Parameter(
            "follow_symlinks",
            "boolean",
            "Enter links to directories",
            default=False,
            notes_help="",
        ),
        Parameter(
            "respect_gitignore",
            "boolean",
            "Leave ignored files out",
            default=True,
            notes_help="",
        ),
    ),
    notes=(
        'Notes are found with path "kb://" or "kb://Folder"; without path only files are. They '
        "are named in full, as read accepts them, and sorted by path unless sort_by is given."
    ),
    notes_alone=NOTES_ALONE,
    notes_title="Find notes by name",
)
