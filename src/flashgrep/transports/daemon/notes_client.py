"""Calls the owner of a knowledge base on its socket: one connection, one call at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import RemoteFailure
from flashgrep.notes.home import SOCKET, owner_of
from flashgrep.notes.ownership import NoOwner, OwnerGone, OwnerSilent
from flashgrep.transports.lines.client import ConnectionEnded, LineClient, NotSent
from flashgrep.transports.lines.join import JOIN_SECONDS
from flashgrep.transports.lines.unix_socket import reach_at

_SILENCE_SECONDS: Final = 2.0
"""How long an answer may take before the owner is asked whether it is alive."""


class OwnerClient(LineClient):
    """A connection to the owner. Several threads may use it."""

    def __init__(self, home: Path) -> None:
        """Connect, or `NoOwner`."""
        self.home = home
        path = home / SOCKET
        try:
            connection = reach_at(path, JOIN_SECONDS)
        except OSError as error:
            raise NoOwner(f"no process answers on {path} ({error.strerror or error})") from None
        connection.settimeout(None)
        super().__init__(connection, _SILENCE_SECONDS, when_silent=self._require_life)

    def call(
        self,
        method: str,
        params: Mapping[str, Any],
        heard: Callable[[Mapping[str, Any]], None] = lambda told: None,
        seconds: float | None = None,
    ) -> Any:
        """Call, and wait for the answer; `heard` gets the notifications before it.

        `NoOwner` where the call did not reach the owner, `OwnerGone` where the answer is lost,
        `OwnerSilent` where none came in so many `seconds`; without a limit, where the owner is
        stopped or hangs.
        """
        try:
            return super().call(method, params, heard, seconds)
        except NotSent as error:
            raise NoOwner(f"the process that owned {self.home} is gone; ask again") from error
        except ConnectionEnded as error:
            raise OwnerGone(
                f"the process that owns {self.home} ended before it answered {method}, which "
                "may be done or not; look, and ask again"
            ) from error
        except TimeoutError as error:
            raise OwnerSilent(
                f"the process that owns {self.home} (pid {owner_of(self.home)}) does not answer; "
                "wait until it does, or end it"
            ) from error

    def _require_life(self) -> None:
        """Check on another connection whether the owner answers anything at all."""
        # Where the owner ends, so does the connection of the call that waits.
        with suppress(RemoteFailure, NoOwner, OwnerGone), closing(OwnerClient(self.home)) as other:
            other.call("ping", {}, seconds=limits.OWNER_SECONDS)
