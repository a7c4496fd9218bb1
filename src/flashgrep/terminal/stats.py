"""flashgrep stats: figures of the index."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import click

from flashgrep.settings import Settings
from flashgrep.terminal.command import FOUND, Output, common_options, print_json, terminal_command
from flashgrep.terminal.session import opened


@terminal_command("stats")
@click.option("--json", "as_json", is_flag=True, help="The object of stats.")
@common_options
def command(settings: Settings, use_daemon: bool, as_json: bool) -> int:
    """Show how far the index of a running `flashgrep serve` is, and how large."""
    with opened(settings, use_daemon) as session:
        answer = session.call("stats", {})
    output = Output()
    if as_json:
        print_json(output, answer)
    else:
        show_stats(output, answer)
    output.flush()
    return FOUND


def show_stats(output: Output, answer: Mapping[str, Any]) -> None:
    """The figures, one a line."""
    for name, value in answer.items():
        output.line(f"{name:18}{_shown(name, value)}")


def _shown(name: str, value: Any) -> str:
    if name == "last_update" and isinstance(value, int | float) and value:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value))
    if name == "progress":
        return f"{value:.0%}"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "never"}[value]
    return f"{value:,}" if isinstance(value, int) else str(value)
