"""flashgrep view: a file with line numbers, or a directory two levels deep."""

from __future__ import annotations

import os
import re

import click

from flashgrep.settings import Settings
from flashgrep.terminal.command import FOUND, common_options, show, terminal_command
from flashgrep.terminal.session import Local
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
def command(
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
