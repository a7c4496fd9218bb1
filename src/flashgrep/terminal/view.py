"""flashgrep view and slice: a file with line numbers, a directory, or bare lines."""

from __future__ import annotations

import os
import re

import click

from flashgrep.settings import Settings
from flashgrep.terminal.command import FOUND, common_options, show, terminal_command
from flashgrep.terminal.session import Local, opened
from flashgrep.workspace import names

_RANGE = re.compile(r"(\d{1,12})(?:[-:,](\d{1,12})?)?")
_END = 2**40


def read_range(text: str) -> list[int]:
    """Lines as people write them: 5, 5-9, 5:9 or 5-."""
    found = _RANGE.fullmatch(text)
    if found is None:
        raise click.UsageError(f"{text!r} is no range of lines; write 5-9, 5- or 5")
    start = int(found[1])
    if found[2]:
        return [start, int(found[2])]
    return [start, start if found[0] == found[1] else _END]


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
        "path": names.shown(os.fsencode(path)),
        "view_range": read_range(lines) if lines else None,
    }
    local = Local(settings)  # no daemon has this any sooner
    try:
        answer = local.answer("view", arguments)
    finally:
        local.close()
    text = answer.text
    if answer.image is not None:
        text = f"(an image: {answer.image.mime_type}, {len(answer.image.data):,} bytes)"
    show({"path": arguments["path"], "text": text}, as_json, lambda output: output.line(text))
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
        "file_path": names.shown(os.fsencode(found[1])),
        "start_line": start,
        "end_line": end,
    }
    with opened(settings, use_daemon) as session:
        answer = session.call("get_slice", arguments)
    show(answer, as_json, lambda output: output.line(answer["content"]))
    return FOUND
