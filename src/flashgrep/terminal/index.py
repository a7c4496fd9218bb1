"""flashgrep index and stats: build the index, show its progress and figures, or remove it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import click

from flashgrep.errors import IOFailure, Unavailable
from flashgrep.index.format.manifest import MANIFEST
from flashgrep.index.format.store import newest, shared_by, sweep_shared
from flashgrep.index.index import BUILT_ELSEWHERE
from flashgrep.settings import Settings
from flashgrep.system.clock import utc
from flashgrep.system.lock import open_lock_file, try_lock
from flashgrep.system.state import state_path
from flashgrep.terminal.carry import carry_in, carry_out
from flashgrep.terminal.command import (
    FOUND,
    NOTHING,
    Bar,
    common_options,
    say,
    show,
    terminal_command,
)
from flashgrep.terminal.session import Remote, opened
from flashgrep.tools.catalog import all_tools
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.dispatch.toolbox import Toolbox

# ── stats ────────────────────────────────────────────────────────────────────────────────────────
# flashgrep stats: figures of the index.


@terminal_command("stats")
@click.option("--json", "as_json", is_flag=True, help="The object of stats.")
@common_options
def stats_command(settings: Settings, use_daemon: bool, as_json: bool) -> int:
    """Show the progress and size of a running `flashgrep serve`'s index, or of the one on disk."""
    with opened(settings, use_daemon) as session:
        answer = session.call("stats", {})
        if not isinstance(session, Remote) and not settings.no_index:
            answer = {**answer, **on_disk(index_directory(settings))}
    show(answer, as_json, stats_lines(answer))
    return FOUND


def index_directory(settings: Settings) -> Path:
    """Where the index of a workspace is kept."""
    workdir = os.path.realpath(os.fsencode(settings.workdir))
    return state_path(settings.state_dir, workdir, os.environ) / "index"


def on_disk(directory: Path) -> dict[str, Any]:
    """What the disk says of an index that no server keeps now; None means not known."""
    paths = [path for path in directory.rglob("*") if path.is_file()]
    written = [path.lstat().st_mtime for path in paths if path.name == MANIFEST]
    known: dict[str, Any] = {
        "total_files": None,
        "total_chunks": None,
        "index_size_bytes": sum(path.lstat().st_size for path in paths),
        "last_update": utc(max(written)) if written else None,
        "freshness": None,
        "reason": "no server is running here, and no complete index is on disk",
    }
    index = newest(directory)
    if index is None:
        return known
    return known | {
        "total_files": index.files,
        "total_chunks": index.blocks,
        "index_size_bytes": index.bytes,
        "last_update": utc(index.updated),
        "state": "ready",
        "grep_ready": True,
        "query_ready": index.is_ranked,
        "progress": 1.0,
        "reason": "no server is running here: this is the index on disk, and the next server "
        "takes in what has changed since",
    }


def stats_lines(answer: Mapping[str, Any]) -> list[str]:
    """The figures, one a line."""
    shown = {name: _shown(name, value) for name, value in answer.items()}
    if answer.get("grep_ready") and not answer.get("query_ready"):
        at_work = answer.get("freshness") is not None
        later = "the files are being ranked" if at_work else "the next server ranks the files"
        shown["query_ready"] = f"not yet: {later}; grep does not need that"
    return [f"{name:18}{text}" for name, text in shown.items()]


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


# ── index ────────────────────────────────────────────────────────────────────────────────────────


_POLL_SECONDS: Final = 0.1
_RETRIES_SECONDS: Final = 10.0
"""An update that fails is tried again after two seconds and after four: what passes has passed."""
_LOGGED: Final = "see the server's log"
_LOCK: Final = "lock"

Look = Callable[[], Mapping[str, Any]]


@terminal_command("index")
@click.option("--status", is_flag=True, help="Only show its progress.")
@click.option("--remove", is_flag=True, help="Remove the index; searches work without it.")
@click.option("--export", "target", metavar="FILE", help="Write the index to a file for others.")
@click.option("--import", "source", metavar="FILE|URL", help="Start from an exported index.")
@click.option("--json", "as_json", is_flag=True, help="The object of stats, export or import.")
@common_options
def index_command(
    settings: Settings,
    use_daemon: bool,
    status: bool,
    remove: bool,
    target: str | None,
    source: str | None,
    as_json: bool,
) -> int:
    """Build the index of the workspace and wait until it is ready, with a progress bar.

    If a `flashgrep serve` of this workspace is running, it builds and this command waits for it. An
    interrupted build resumes at the next start.

    `--import` takes what `--export` wrote, on another machine or in another clone of the same
    files. Each file is checked against its git id; the next server reads and indexes what differs.
    """
    given = {"--status": status, "--remove": remove, "--export": target, "--import": source}
    if len(chosen := [name for name, value in given.items() if value]) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} exclude each other")
    if target or source:
        done = carry_out(settings, target) if target else carry_in(settings, str(source))
        show(done, as_json, _carried(done, target))
        return FOUND
    directory = index_directory(settings)
    if remove:
        return _tell_removed(directory, as_json)
    with _looking(settings, use_daemon, directory, build=not status) as (look, is_remote):
        answer = look() if status else wait_until_ready(look)
    if not is_remote:  # what was built here is no longer kept up to date
        answer = {**answer, **on_disk(directory)}
    show(answer, as_json, stats_lines(answer))
    return FOUND if answer["grep_ready"] or not status else NOTHING


@contextmanager
def _looking(
    settings: Settings, use_daemon: bool, directory: Path, build: bool
) -> Iterator[tuple[Look, bool]]:
    """The index's progress, the server's or that of a build here, and whether it is a server's."""
    with opened(settings, use_daemon) as session:
        if isinstance(session, Remote):
            yield lambda: session.call("stats", {}), True
            return
        if not build:
            yield lambda: {**session.call("stats", {}), **on_disk(directory)}, False
            return
    from flashgrep.app import build as build_application

    application = build_application(settings)
    application.start_index()
    tools = Toolbox(all_tools(), application.services, settings, "")  # whatever is offered
    try:
        yield lambda: tools.here("stats", {}, Caller("terminal"), direct=True).data or {}, False
    finally:
        application.close()


def _carried(done: Mapping[str, Any], target: str | None) -> Iterator[str]:
    """What `--export` wrote, or `--import` took."""
    if target:
        size = os.stat(target).st_size
        yield f"wrote {target} ({size:,} bytes): {_amount(done)}"
        if done["left_out"]:
            yield f"left out: {done['left_out']:,} files that are not stored as plain UTF-8 text"
    else:
        yield f"imported {_amount(done)}"
        yield "grep can use them now; the next server, or flashgrep index, ranks them for query"


def _amount(done: Mapping[str, Any]) -> str:
    files = "1 file" if done["files"] == 1 else f"{done['files']:,} files"
    return f"{files} with {done['bytes']:,} bytes of text"


def wait_until_ready(look: Look) -> Mapping[str, Any]:
    """Look again and again, with a bar; `Unavailable` where it is off or keeps failing."""
    failing = 0.0
    with Bar("indexing") as bar:
        while True:
            answer = look()
            if answer["grep_ready"] and answer["query_ready"]:
                return answer
            reason = answer.get("reason")
            if answer["state"] == "off":
                raise Unavailable(f"there is no index here: {reason or _LOGGED}")
            is_failing = bool(reason) and reason != BUILT_ELSEWHERE and not answer["grep_ready"]
            failing = failing + _POLL_SECONDS if is_failing else 0.0
            if failing > _RETRIES_SECONDS:
                raise Unavailable(f"the index cannot be built: {reason}")
            note = f"{answer['total_files']:,} files, grep ready; ranking them for query"
            bar.show(answer["progress"], note if answer["grep_ready"] else "reading files")
            time.sleep(_POLL_SECONDS)


def _tell_removed(directory: Path, as_json: bool) -> int:
    found = _remove(directory)
    told = [f"removed the index at {directory}"] if found else []
    show({"removed": found, "path": str(directory)}, as_json, told)
    if not found and not as_json:
        say(f"there is no index at {directory}")
    return FOUND if found else NOTHING


def _remove(directory: Path) -> bool:
    """Delete all but the lock files, which another process may just be waiting on; whether there
    was anything.
    """
    if directory.is_symlink():
        raise IOFailure(f"{directory} is a link; remove it by hand")
    paths = [path for path in directory.rglob("*") if path.is_symlink() or not path.is_dir()]
    if all(path.name == _LOCK for path in paths):
        return False
    shared = shared_by(directory)
    with ExitStack() as held:
        for home in (directory, *_subdirectories(directory)):
            held.enter_context(_locked(home))
        for path in sorted(directory.rglob("*"), reverse=True):  # what a directory holds, first
            _delete(path)
    for store in shared:
        sweep_shared(store)  # what other trees use stays
    return True


def _subdirectories(directory: Path) -> Iterator[Path]:
    return (path for path in directory.rglob("*") if path.is_dir() and not path.is_symlink())


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Hold a directory's lock, if it has one; refuse if it is held elsewhere."""
    try:
        lock = open_lock_file(home / _LOCK, create=False)
    except FileNotFoundError:
        yield
        return
    try:
        if not try_lock(lock):
            raise Unavailable(f"a server uses the index in {home}; stop it first")
        yield
    finally:
        os.close(lock)


def _delete(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        if path.name != _LOCK:
            path.unlink()
    elif not any(path.iterdir()):
        path.rmdir()
