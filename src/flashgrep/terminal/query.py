"""flashgrep query and symbol: places that fit some words, and where a name is defined."""

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


@terminal_command("query")
@click.argument("words", nargs=-1, required=True, metavar="WORDS...")
@click.option("-n", "--limit", type=click.IntRange(1), default=10, metavar="N", help="At most N.")
@click.option("--offset", type=click.IntRange(0), default=0, metavar="N", help="Skip N first.")
@click.option("--mode", type=click.Choice(["smart", "literal", "regex"]), default="smart")
@click.option("-g", "--glob", multiple=True, metavar="GLOB", help="Only such files; ! excludes.")
@click.option(
    "-C", "--context", type=click.IntRange(0), default=0, metavar="N", help="Lines around."
)
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
    glob: tuple[str, ...],
    context: int,
    color: str,
    as_json: bool,
) -> int:
    """Find the places in the workspace that fit WORDS best, the best first.

    Each is shown as path:lines, its score, the symbol it belongs to, and the lines that fit.
    """
    arguments = {
        "text": " ".join(words),
        "limit": limit,
        "offset": offset,
        "mode": mode,
        "include": [text for text in glob if not text.startswith("!")],
        "exclude": [text[1:] for text in glob if text.startswith("!")],
        "context": context,
    }
    with opened(settings, use_daemon) as session:
        answer = session.call("query", arguments)
    show(
        answer,
        as_json,
        lambda output: _show_places(output, answer, wants_color(color, output.is_terminal)),
    )
    return FOUND if answer["results"] else NOTHING


def _show_places(output: Output, answer: Mapping[str, Any], color: bool) -> None:
    for result in answer["results"]:
        place = f"{result['file_path']}:{result['start_line']}-{result['end_line']}"
        if color:
            place = click.style(place, fg="magenta")
        symbol = f"  {result['symbol']}" if result.get("symbol") else ""
        output.line(f"{place}  {result['score']:.1f}{symbol}")
        for line in str(result["preview"]).splitlines():
            output.line(f"    {line}")
    if answer.get("truncated"):
        output.line(f"({answer['total']:,} in total; next: --offset {answer['next_offset']})")


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
    with opened(settings, use_daemon) as session:
        answer = session.call("get_symbol", {"symbol_name": name})
    show(
        answer,
        as_json,
        lambda output: _show_symbol(
            output, answer, definitions, wants_color(color, output.is_terminal)
        ),
    )
    shown = answer["definitions"] or (answer["references"] and not definitions)
    return FOUND if shown else NOTHING


def _show_symbol(
    output: Output, answer: Mapping[str, Any], only_defined: bool, color: bool
) -> None:
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
