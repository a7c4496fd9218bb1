"""flashgrep glob, files, view, slice, query and symbol: one tool each, printed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import click

from flashgrep.errors import FlashgrepError, NotFound
from flashgrep.settings import Settings
from flashgrep.terminal.command import (
    FAILED,
    FOUND,
    NOTHING,
    Output,
    WholeNumber,
    common_options,
    say,
    show,
    terminal_command,
    wants_color,
    worded,
)
from flashgrep.terminal.session import Local, opened
from flashgrep.workspace.scope import parse_name, shown_name

# ── glob ──────────────────────────────────────────────────────────────────────────────────────────


_ALL = 2**31


@terminal_command("glob")
@click.argument("pattern", required=False)
@click.argument("path", required=False)
@click.option("-t", "--type", "kind", type=click.Choice(["file", "directory"]), default="file")
@click.option("-E", "--exclude", multiple=True, metavar="GLOB", help="Leave these out.")
@click.option("-e", "--extension", multiple=True, metavar="EXT", help="Only these extensions.")
@click.option("-d", "--max-depth", type=WholeNumber(0), metavar="N", help="0 = PATH's own entries.")
@click.option("--hidden/--no-hidden", default=True, help="Dot files too (the default).")
@click.option("--sort", type=click.Choice(["modified", "name", "path", "size"]), default="modified")
@click.option("--reverse", is_flag=True, help="Reverse the order.")
@click.option("-i", "--ignore-case", is_flag=True, help="Ignore case.")
@click.option("-L", "--follow", is_flag=True, help="Enter links to directories.")
@click.option("--ignore/--no-ignore", default=True, help="Leave out what .gitignore names.")
@click.option("-n", "--limit", type=WholeNumber(1), default=_ALL, metavar="N", help="At most N.")
@click.option("-0", "--null", is_flag=True, help="A NUL byte after each path.")
@click.option("--json", "as_json", is_flag=True, help="The object of the direct method.")
@common_options
def glob_command(
    settings: Settings, use_daemon: bool, path: str | None, null: bool, as_json: bool, **given: Any
) -> int:
    """Find files whose name matches PATTERN below PATH, newest first: '*.py', 'src/**/*.{c,h}'."""
    if given["pattern"] is None and not given["extension"]:
        raise click.UsageError("name a PATTERN, such as '*.py', or an extension with -e")
    prefix = os.fsencode(path or "")
    root = os.path.join(os.path.abspath(os.fsencode(settings.workdir)), prefix)
    with opened(settings, use_daemon, above=True) as session:
        if not os.path.isdir(root):
            reason = "Not a directory" if os.path.exists(root) else "No such directory"
            raise NotFound(f"{shown_name(prefix)}: {reason}")
        answer = session.call("glob", {"path": shown_name(root), **_arguments(given)})
    _show_paths(answer, answer["paths"], prefix, null, as_json)
    for name, reason in answer.get("skipped", ()):
        say(f"{name}: {reason}")
    if answer.get("skipped"):
        return FAILED
    return FOUND if answer["total"] else NOTHING


def _show_paths(
    answer: Mapping[str, Any], paths: Iterable[str], prefix: bytes, null: bool, as_json: bool
) -> None:
    if as_json:
        show(answer, as_json, ())
        return
    output = Output()
    for name in paths:
        raw = os.path.join(prefix, parse_name(name) or os.fsencode(name))
        output.write(output.path(raw) + (b"\0" if null else b"\n"))
    output.flush()


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    descending = given["sort"] in ("modified", "size")
    return {
        "pattern": given["pattern"],
        "type": given["kind"],
        "exclude": list(given["exclude"]) or None,
        "extensions": list(given["extension"]) or None,
        "max_depth": given["max_depth"],
        "include_hidden": given["hidden"],
        "sort_by": given["sort"],
        "sort_order": "desc" if descending != given["reverse"] else "asc",
        "case_sensitive": not given["ignore_case"],
        "follow_symlinks": given["follow"],
        "respect_gitignore": given["ignore"],
        "limit": given["limit"],
    }


# ── files ────────────────────────────────────────────────────────────────────────────────────────
# flashgrep files: the files a search of the workspace looks at.


@terminal_command("files")
@click.argument("pattern", required=False)
@click.option("-n", "--limit", type=WholeNumber(1), metavar="N", help="At most N.")
@click.option("--offset", type=WholeNumber(0), default=0, metavar="N", help="Skip N first.")
@click.option("-0", "--null", is_flag=True, help="A NUL byte after each path.")
@click.option("--json", "as_json", is_flag=True, help="The object of list_files.")
@common_options
def files_command(
    settings: Settings,
    use_daemon: bool,
    pattern: str | None,
    limit: int | None,
    offset: int,
    null: bool,
    as_json: bool,
) -> int:
    """List the files of the workspace, or those whose path matches the glob PATTERN."""
    arguments = {"pattern": pattern, "limit": limit, "offset": offset}
    with opened(settings, use_daemon) as session:
        answer = session.call("list_files", arguments)
    _show_paths(answer, answer["files"], b"", null, as_json)
    return FOUND if answer["files"] else NOTHING


# ── view ──────────────────────────────────────────────────────────────────────────────────────────


_RANGE = re.compile(r"(\d{1,12})(?:[-:,](\d{1,12})?)?")
_END = 2**40


def read_range(text: str) -> list[int]:
    """Lines as people write them: 5, 5-9, 5:9 or 5-."""
    found = _RANGE.fullmatch(text)
    if found is None:
        raise click.UsageError(f"{text!r} is not a range of lines; write 5-9, 5- or 5")
    start = int(found[1])
    if not start:
        raise click.UsageError(f"{text!r} begins at line 0; lines are counted from 1")
    if found[2]:
        if (end := int(found[2])) < start:
            raise click.UsageError(f"{text!r} ends before it begins; write {end or 1}-{start}")
        return [start, end]
    return [start, start if found[0] == found[1] else _END]


@contextmanager
def _lines_named() -> Iterator[None]:
    """In the block, word refusals in terms of lines, not of a tool's parameters."""
    try:
        yield
    except FlashgrepError as error:
        message = re.sub(r"\b(view_range start|start_line)\b", "line", error.message)
        raise FlashgrepError(message) from None


@terminal_command("view")
@click.argument("path")
@click.option("-r", "--range", "lines", metavar="FIRST-LAST", help="Only these lines.")
@click.option("--json", "as_json", is_flag=True, help="An object with path and text.")
@common_options
def view_command(
    settings: Settings, use_daemon: bool, path: str, lines: str | None, as_json: bool
) -> int:
    """Show the file or directory at PATH as an agent sees it."""
    arguments = {
        "path": shown_name(os.fsencode(path)),
        "view_range": read_range(lines) if lines else None,
    }
    # A server would not be faster.
    with _lines_named(), closing(Local(settings)) as local:
        answer = local.answer("view", arguments)
    text = answer.text
    if answer.image is not None:
        text = f"(an image: {answer.image.mime_type}, {len(answer.image.data):,} bytes)"
    show({"path": arguments["path"], "text": text}, as_json, [text])
    return FOUND


# ── slice ────────────────────────────────────────────────────────────────────────────────────────
# flashgrep slice: lines of a file, bare.


_PLACE = re.compile(r"(.+?):(\d+(?:[-:,]\d*)?)", re.DOTALL)


@terminal_command("slice")
@click.argument("place", metavar="FILE:START-END")
@click.option("--json", "as_json", is_flag=True, help="The object of get_slice.")
@common_options
def slice_command(settings: Settings, use_daemon: bool, place: str, as_json: bool) -> int:
    """Print lines START to END of FILE: src/a.py:10-20, src/a.py:10- or src/a.py:10."""
    found = _PLACE.fullmatch(place)
    if found is None:
        raise click.UsageError(f"{place!r} names no lines; write FILE:10-20")
    start, end = read_range(found[2])
    arguments = {
        "file_path": shown_name(os.fsencode(found[1])),
        "start_line": start,
        "end_line": end,
    }
    with _lines_named(), opened(settings, use_daemon) as session:
        answer = session.call("get_slice", arguments)
    show(answer, as_json, [answer["content"]])
    return FOUND


# ── query ─────────────────────────────────────────────────────────────────────────────────────────


@terminal_command("query")
@click.argument("words", nargs=-1, required=True, metavar="WORDS...")
@click.option("-n", "--limit", type=WholeNumber(1), default=10, metavar="N", help="At most N.")
@click.option("--offset", type=WholeNumber(0), default=0, metavar="N", help="Skip N first.")
@click.option("--mode", type=click.Choice(["smart", "literal", "regex"]), default="smart")
@click.option(
    "--kind", type=click.Choice(["code", "docs", "any"]), default="any", help="Which files."
)
@click.option(
    "-g", "--glob", multiple=True, metavar="GLOB", help="Only matching files; ! excludes."
)
@click.option("-C", "--context", type=WholeNumber(0), default=0, metavar="N", help="Lines around.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto")
@click.option("--json", "as_json", is_flag=True, help="The object of query.")
@common_options
def query_command(
    settings: Settings,
    use_daemon: bool,
    words: tuple[str, ...],
    limit: int,
    offset: int,
    mode: str,
    kind: str,
    glob: tuple[str, ...],
    context: int,
    color: str,
    as_json: bool,
) -> int:
    """Find the places in the workspace that best match WORDS, best first.

    Each is shown as path:lines, its score, the symbol it belongs to, and the matching lines.
    """
    arguments = {
        "text": " ".join(words),
        "limit": limit,
        "offset": offset,
        "mode": mode,
        "kind": kind,
        "include": [text for text in glob if not text.startswith("!")],
        "exclude": [text[1:] for text in glob if text.startswith("!")],
        "context": context,
    }
    with worded({"text": "WORDS"}), opened(settings, use_daemon) as session:
        answer = session.call("query", arguments)
    show(answer, as_json, _places(answer, wants_color(color)))
    return FOUND if answer["results"] else NOTHING


def _places(answer: Mapping[str, Any], color: bool) -> Iterator[str]:
    for result in answer["results"]:
        place = f"{result['file_path']}:{result['start_line']}-{result['end_line']}"
        if color:
            place = click.style(place, fg="magenta")
        symbol = f"  {result['symbol']}" if result.get("symbol") else ""
        yield f"{place}  {result['score']:.1f}{symbol}"
        for line in str(result["preview"]).splitlines():
            yield f"    {line}"
    if answer.get("truncated"):
        yield f"({answer['total']:,} in total; next: --offset {answer['next_offset']})"


# ── symbol ───────────────────────────────────────────────────────────────────────────────────────
# flashgrep symbol: where a name is defined, and where it is used.


@terminal_command("symbol")
@click.argument("name")
@click.option("-d", "--definitions", is_flag=True, help="Only definitions.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto")
@click.option("--json", "as_json", is_flag=True, help="The object of get_symbol.")
@common_options
def symbol_command(
    settings: Settings, use_daemon: bool, name: str, definitions: bool, color: str, as_json: bool
) -> int:
    """Show the definitions of NAME, then every line that uses it, as path:line:text."""
    with worded({"symbol_name": "NAME"}), opened(settings, use_daemon) as session:
        answer = session.call("get_symbol", {"symbol_name": name})
    show(answer, as_json, _symbol_lines(answer, definitions, wants_color(color)))
    shown = answer["definitions"] or (answer["references"] and not definitions)
    return FOUND if shown else NOTHING


def _symbol_lines(answer: Mapping[str, Any], only_defined: bool, color: bool) -> Iterator[str]:
    for row in answer["definitions"]:
        yield f"{_place(row, color)}{row['kind']}: {row['signature']}"
    for row in () if only_defined else answer["references"]:
        yield f"{_place(row, color)}{row['text']}"


def _place(row: Mapping[str, Any], color: bool) -> str:
    if not color:
        return f"{row['file_path']}:{row['line']}:"
    path, line = click.style(row["file_path"], fg="magenta"), click.style(row["line"], fg="green")
    return f"{path}:{line}:"
