"""Where `flashgrep kb` has its work done: in this process, or by whoever owns the notes.

The lock decides. Where nobody holds it, the notes are opened here. Where a server does, it listens
on the knowledge base's socket and is asked there. Another terminal command listens nowhere, and
ends soon: it is waited for.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from flashgrep import limits
from flashgrep.notes.administration import Administration, Desk
from flashgrep.notes.home import Owned
from flashgrep.notes.ownership import NoOwner
from flashgrep.transports.daemon.notes_client import OwnerClient

_PAUSE_SECONDS: Final = 0.1
_VARIABLE: Final = "FLASHGREP_KB"


def kb_option(function: Callable[..., int]) -> Callable[..., int]:
    """`--kb PATH`, which the environment may give."""

    @click.option("--kb", "given", metavar="PATH", help=f"The knowledge base ({_VARIABLE}).")
    @functools.wraps(function)
    def wrapped(given: str | None, **more: Any) -> int:
        path = given or os.environ.get(_VARIABLE)
        if not path:
            raise click.UsageError(f"name the knowledge base with --kb PATH, or in {_VARIABLE}")
        return function(kb=Path(path).absolute(), **more)

    return wrapped


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object.")


@contextmanager
def opened_desk(kb: Path) -> Iterator[Desk]:
    """Somebody who does what is asked of these notes."""
    desk, close = _desk(kb)
    try:
        yield desk
    finally:
        close()


def _desk(kb: Path) -> tuple[Desk, Callable[[], None]]:
    from flashgrep.notes.knowledge_base import KnowledgeBase

    deadline = time.monotonic() + limits.OWNER_SECONDS
    while True:
        try:
            notes = KnowledgeBase(kb)
            return Administration(notes), notes.close
        except Owned as owned:
            try:
                client = OwnerClient(kb)
                return client, client.close
            except NoOwner:
                if time.monotonic() > deadline:
                    raise owned from None
        time.sleep(_PAUSE_SECONDS)


def when(milliseconds: int) -> str:
    """A time as a person reads it."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(milliseconds / 1_000))


def user_name() -> str:
    """Whose changes these are: the name of the user at the terminal."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


author_option = click.option(
    "--author",
    metavar="NAME",
    default=None,
    help="Whose change it is; your user name if not given.",
)
