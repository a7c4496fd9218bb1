"""flashgrep symbol: where a name is defined, and where it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from flashgrep.settings import Settings
from flashgrep.terminal.command import (
    FOUND,
    NOTHING,
    Output,
    common_options,
    show,
    terminal_command,
    wants_color,
)
from flashgrep.terminal.session import opened


@terminal_command("symbol")
@click.argument("name")
@click.option("-d", "--definitions", is_flag=True, help="Only definitions.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto")
@click.option("--json", "as_json", is_flag=True, help="The object of get_symbol.")
@common_options
def command(
    settings: Settings, use_daemon: bool, name: str, definitions: bool, color: str, as_json: bool
) -> int:
    """Show the definitions of NAME, then every line that uses it, as path:line:text."""
    with opened(settings, use_daemon) as session:
        answer = session.call("get_symbol", {"symbol_name": name})
    show(
        answer,
        as_json,
        lambda output: _show(output, answer, definitions, wants_color(color, output.is_terminal)),
    )
    shown = answer["definitions"] or (answer["references"] and not definitions)
    return FOUND if shown else NOTHING


def _show(output: Output, answer: Mapping[str, Any], only_defined: bool, color: bool) -> None:
    for row in answer["definitions"]:
        output.line(f"{_place(row, color)}{row['kind']}: {row['signature']}")
    if only_defined:
        return
    for row in answer["references"]:
        output.line(f"{_place(row, color)}{row['text']}")


def _place(row: Mapping[str, Any], color: bool) -> str:
    if not color:
        return f"{row['file_path']}:{row['line']}:"
    path, line = click.style(row["file_path"], fg="magenta"), click.style(row["line"], fg="green")
    return f"{path}:{line}:"
