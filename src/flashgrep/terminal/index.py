"""flashgrep index: build the index now, show how far it is, or remove it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import click

from flashgrep.errors import IOFailure, Unavailable
from flashgrep.settings import Settings
from flashgrep.system.lock import open_lock_file, try_lock
from flashgrep.terminal.bar import Bar
from flashgrep.terminal.command import (
    FOUND,
    NOTHING,
    common_options,
    say,
    show,
    terminal_command,
)
from flashgrep.terminal.session import Remote, opened
from flashgrep.terminal.stats import index_directory, on_disk, show_stats
from flashgrep.tools.verbs.stats import described

_POLL_SECONDS: Final = 0.1
_LOCK: Final = "lock"

Look = Callable[[], Mapping[str, Any]]


@terminal_command("index")
@click.option("--status", is_flag=True, help="Only show how far it is.")
@click.option("--remove", is_flag=True, help="Take the index away; searches go on without.")
@click.option("--json", "as_json", is_flag=True, help="The object of stats.")
@common_options
def command(settings: Settings, use_daemon: bool, status: bool, remove: bool, as_json: bool) -> int:
    """Build the index of the workspace and wait until it is ready, with a progress bar.

    Where a `flashgrep serve` of this workspace runs, it builds, and this waits for it. A build
    that is interrupted goes on at the next start.
    """
    if status and remove:
        raise click.UsageError("--status and --remove exclude each other")
    directory = index_directory(settings)
    if remove:
        return _remove(directory)
    with _looking(settings, use_daemon, directory, build=not status) as look:
        answer = look() if status else wait_until_ready(look)
    show(answer, as_json, lambda output: show_stats(output, answer))
    return FOUND if answer["grep_ready"] or not status else NOTHING


@contextmanager
def _looking(settings: Settings, use_daemon: bool, directory: Path, build: bool) -> Iterator[Look]:
    """A way to see how far the index is: the daemon's, one of our own, or what is on disk."""
    with opened(settings, use_daemon) as session:
        if isinstance(session, Remote):
            yield lambda: session.call("stats", {})
            return
        if not build:
            yield lambda: {**session.call("stats", {}), **on_disk(directory)}
            return
    from flashgrep.app import build as build_application

    application = build_application(settings)
    application.start_index()
    try:
        yield lambda: described(application.services.index.status(), settings)
    finally:
        application.close()


def wait_until_ready(look: Look) -> Mapping[str, Any]:
    """Look again and again, with a bar; an index that is off is `Unavailable`."""
    with Bar("indexing") as bar:
        while True:
            answer = look()
            if answer["grep_ready"] and answer["query_ready"]:
                return answer
            if answer["state"] == "off":
                reason = answer.get("reason") or "see the server's log"
                raise Unavailable(f"there is no index here: {reason}")
            note = f"{answer['total_files']:,} files, grep ready; ranking them for query"
            bar.show(answer["progress"], note if answer["grep_ready"] else "reading files")
            time.sleep(_POLL_SECONDS)


def _remove(directory: Path) -> int:
    """Delete all but the lock files, which another process may just be waiting on."""
    if directory.is_symlink():
        raise IOFailure(f"{directory} is a link; remove it by hand")
    if not directory.is_dir():
        say(f"there is no index at {directory}")
        return NOTHING
    with ExitStack() as held:
        for home in (directory, *_subdirectories(directory)):
            held.enter_context(_locked(home))
        for path in sorted(directory.rglob("*"), reverse=True):  # what a directory holds, first
            _delete(path)
    return FOUND


def _subdirectories(directory: Path) -> Iterator[Path]:
    return (path for path in directory.rglob("*") if path.is_dir() and not path.is_symlink())


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Hold a directory's lock, if it has one; one that is held elsewhere is a refusal."""
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
