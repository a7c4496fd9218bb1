"""Asks the owner of a knowledge base on its socket: one connection, one question at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flashgrep import limits
from flashgrep.notes.home import SOCKET
from flashgrep.notes.ownership import NoOwner, OwnerGone
from flashgrep.transports.lines.client import ConnectionEnded, LineClient, NotSent
from flashgrep.transports.lines.unix_socket import reach_at


class OwnerClient(LineClient):
    """A connection to the owner. May be used by several threads."""

    def __init__(self, home: Path) -> None:
        """Connect, or `NoOwner`."""
        self.home = home
        path = home / SOCKET
        try:
            connection = reach_at(path, limits.JOIN_SECONDS)
        except OSError as error:
            raise NoOwner(f"nobody answers on {path} ({error.strerror or error})") from None
        connection.settimeout(None)
        super().__init__(connection)

    def call(
        self,
        method: str,
        params: Mapping[str, Any],
        heard: Callable[[Mapping[str, Any]], None] = lambda told: None,
    ) -> Any:
        """Ask, and wait for the answer; `heard` is given what the owner tells before it.

        `NoOwner` where the question did not reach the owner, `OwnerGone` where the answer is lost.
        """
        try:
            return super().call(method, params, heard)
        except NotSent as error:
            raise NoOwner(f"the process that owned {self.home} is gone; ask again") from error
        except ConnectionEnded as error:
            raise OwnerGone(
                f"the process that owns {self.home} ended before it answered {method}, which "
                "may be done or not; look, and ask again"
            ) from error
