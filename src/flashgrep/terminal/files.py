"""flashgrep files: the files a search of the workspace looks at."""

from __future__ import annotations

import os

import click

from flashgrep.settings import Settings
from flashgrep.terminal.command import (
    FOUND,
    NOTHING,
    Output,
    common_options,
    print_json,
    terminal_command,
)
from flashgrep.terminal.session import opened
from flashgrep.workspace import names


@terminal_command("files")
@click.argument("pattern", required=False)
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="At most N.")
@click.option("--offset", type=click.IntRange(0), default=0, metavar="N", help="Skip N first.")
@click.option("-0", "--null", is_flag=True, help="A NUL byte behind each path.")
@click.option("--json", "as_json", is_flag=True, help="The object of list_files.")
@common_options
def command(
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
