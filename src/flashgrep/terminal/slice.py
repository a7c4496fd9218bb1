"""flashgrep slice: lines of a file, bare."""

from __future__ import annotations

import os
import re

import click

from flashgrep.settings import Settings
from flashgrep.terminal.command import FOUND, common_options, show, terminal_command
from flashgrep.terminal.session import opened
from flashgrep.terminal.view import read_range
from flashgrep.workspace import names

_PLACE = re.compile(r"(.+?):(\d+(?:[-:,]\d*)?)", re.DOTALL)


@terminal_command("slice")
@click.argument("place", metavar="FILE:START-END")
@click.option("--json", "as_json", is_flag=True, help="The object of get_slice.")
@common_options
def command(settings: Settings, use_daemon: bool, place: str, as_json: bool) -> int:
    """Print lines START to END of FILE: src/a.py:10-20, src/a.py:10- or src/a.py:10."""
    found = _PLACE.fullmatch(place)
    if found is None:
        raise click.UsageError(f"{place!r} names no lines; write FILE:10-20")
    start, end = read_range(found[2])
    arguments = {
        "file_path": names.shown(os.fsencode(found[1])),
        "start_line": start,
        "end_line": end,
    }
    with opened(settings, use_daemon) as session:
        answer = session.call("get_slice", arguments)
    show(answer, as_json, lambda output: output.line(answer["content"]))
    return FOUND
