"""flashgrep stats: figures of the index."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from flashgrep.index.format.store import MANIFEST
from flashgrep.settings import Settings
from flashgrep.system.state import state_path
from flashgrep.terminal.command import FOUND, Output, common_options, show, terminal_command
from flashgrep.terminal.ondisk import newest
from flashgrep.terminal.session import Remote, opened
from flashgrep.tools.verbs.stats import utc


@terminal_command("stats")
@click.option("--json", "as_json", is_flag=True, help="The object of stats.")
@common_options
def command(settings: Settings, use_daemon: bool, as_json: bool) -> int:
    """Show how far the index of a running `flashgrep serve` is, and how large."""
    with opened(settings, use_daemon) as session:
        answer = session.call("stats", {})
        if not isinstance(session, Remote) and not settings.no_index:
            answer = {**answer, **on_disk(index_directory(settings))}
    show(answer, as_json, lambda output: show_stats(output, answer))
    return FOUND


def index_directory(settings: Settings) -> Path:
    """Where the index of a workspace is kept."""
    workdir = os.path.realpath(os.fsencode(settings.workdir))
    return state_path(settings.state_dir, workdir, os.environ) / "index"


def on_disk(directory: Path) -> dict[str, Any]:
    """What can be told of an index that nobody keeps just now; None is not known."""
    paths = [path for path in directory.rglob("*") if path.is_file()]
    written = [path.lstat().st_mtime for path in paths if path.name == MANIFEST]
    told: dict[str, Any] = {
        "total_files": None,
        "total_chunks": None,
        "index_size_bytes": sum(path.lstat().st_size for path in paths),
        "last_update": utc(max(written)) if written else None,
        "freshness": None,
        "reason": "no server is running here, and no complete index is on disk",
    }
    index = newest(directory)
    if index is None:
        return told
    return told | {
        "total_files": index.files,
        "total_chunks": index.blocks,
        "last_update": utc(index.updated),
        "state": "ready",
        "grep_ready": True,
        "query_ready": index.is_ranked,
        "progress": 1.0,
        "reason": "no server is running here: this is the index on disk, and the next server "
        "takes in what has changed since",
    }


def show_stats(output: Output, answer: Mapping[str, Any]) -> None:
    """The figures, one a line."""
    for name, value in answer.items():
        output.line(f"{name:18}{_shown(name, value)}")


def _shown(name: str, value: Any) -> str:
    if name == "last_update" and isinstance(value, int | float) and value:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value))
    if name == "progress":
        return f"{value:.0%}"
    if value is None:
        return "never" if name == "last_update" else "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
