"""flashgrep glob and files: find files by name, or list what a search looks at."""

from __future__ import annotations

import os
from typing import Any

import click

from flashgrep.errors import NotFound
from flashgrep.settings import Settings
from flashgrep.terminal.command import (
    FAILED,
    FOUND,
    NOTHING,
    Output,
    common_options,
    print_json,
    say,
    terminal_command,
)
from flashgrep.terminal.session import opened
from flashgrep.workspace import names

_ALL = 2**31


@terminal_command("glob")
@click.argument("pattern", required=False)
@click.argument("path", required=False)
@click.option("-t", "--type", "kind", type=click.Choice(["file", "directory"]), default="file")
@click.option("-E", "--exclude", multiple=True, metavar="GLOB", help="Leave these out.")
@click.option("-e", "--extension", multiple=True, metavar="EXT", help="Only these extensions.")
@click.option("-d", "--max-depth", type=click.IntRange(0), metavar="N", help="0 = PATH's own.")
@click.option("--hidden/--no-hidden", default=True, help="Dot files too (the default).")
@click.option("--sort", type=click.Choice(["modified", "name", "path", "size"]), default="modified")
@click.option("--reverse", is_flag=True, help="The other way round.")
@click.option("-i", "--ignore-case", is_flag=True, help="Letters match in either case.")
@click.option("-L", "--follow", is_flag=True, help="Enter links to directories.")
@click.option("--ignore/--no-ignore", default=True, help="Leave out what .gitignore names.")
@click.option("-n", "--limit", type=click.IntRange(1), default=_ALL, metavar="N", help="At most N.")
@click.option("-0", "--null", is_flag=True, help="A NUL byte behind each path.")
@click.option("--json", "as_json", is_flag=True, help="The object of the direct method.")
@common_options
def glob_command(
    settings: Settings, use_daemon: bool, path: str | None, null: bool, as_json: bool, **given: Any
) -> int:
    """Find files whose name matches PATTERN below PATH, newest first: '*.py', 'src/**/*.{c,h}'."""
    prefix = os.fsencode(path or "")
    root = os.path.join(os.path.abspath(os.fsencode(settings.workdir)), prefix)
    with opened(settings, use_daemon, above=True) as session:
        if not os.path.isdir(root):
            raise NotFound(f"{names.shown(prefix)}: No such directory")
        answer = session.call("glob", {"path": names.shown(root), **_arguments(given)})
    output = Output()
    if as_json:
        print_json(output, answer)
    else:
        for name in answer["paths"]:
            raw = os.path.join(prefix, names.parse(name) or os.fsencode(name))
            output.write(output.path(raw) + (b"\0" if null else b"\n"))
    output.flush()
    for name, reason in answer.get("skipped", ()):
        say(f"{name}: {reason}")
    if answer.get("skipped"):
        return FAILED
    return FOUND if answer["total"] else NOTHING


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
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="At most N.")
@click.option("--offset", type=click.IntRange(0), default=0, metavar="N", help="Skip N first.")
@click.option("-0", "--null", is_flag=True, help="A NUL byte behind each path.")
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
    output = Output()
    if as_json:
        print_json(output, answer)
    else:
        for name in answer["files"]:
            raw = names.parse(name) or os.fsencode(name)
            output.write(output.path(raw) + (b"\0" if null else b"\n"))
    output.flush()
    return FOUND if answer["files"] else NOTHING
