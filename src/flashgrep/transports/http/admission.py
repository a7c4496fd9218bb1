"""Who a request on HTTP comes from: the server's token, or one of the knowledge base's.

The server's own token, given or generated, opens everything, and so does its absence with
`--no-auth`: on notes it is an admin's, through the tools an agent's, who suggests. A token of the
knowledge base stands for what it was made for, on every route, and opens notes alone; but the one
that was made for the agents of this workspace opens its files as the server's own does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flashgrep.errors import FlashgrepError
from flashgrep.notes.access.roles import Principal, Role, everywhere
from flashgrep.transports.http.places import Places
from flashgrep.transports.lines.gate import same_token

if TYPE_CHECKING:
    from flashgrep.notes.access.tokens import Tokens

ADMISSION: Final = "flashgrep.admission"
"""Where it stands in an ASGI scope."""
SERVER: Final = "server"
"""What the server's own token, given or generated, is called in the names of authors."""
ANYONE: Final = "anyone"
"""Who decides and writes where no token is asked for."""
_MARK: Final = "fgkb_"
"""What tokens of a knowledge base begin with."""


@dataclass(frozen=True)
class Admission:
    """Somebody who was let in."""

    token: str
    """What the token is called; empty where none is asked for."""
    principal: Principal | None
    """What the token was made for; None for the server's own."""
    opens_files: bool = True
    """Whether the workspace is open to it, and not the notes alone."""

    @property
    def key(self) -> str:
        """The token, told from all others: one may be called as the server's own is."""
        return f"kb:{self.token}" if self.principal else self.token

    @property
    def may_write_notes(self) -> bool:
        """Whether this may change any note at all."""
        return self.on_notes.is_anywhere(Role.WRITE)

    @property
    def shown(self) -> str:
        """The name under which changes of notes are kept."""
        return self.token or ANYONE

    @property
    def on_notes(self) -> Principal:
        """What this is on the routes of the notes."""
        return self.principal or everywhere(self.shown, Role.ADMIN)

    @property
    def on_tools(self) -> Principal:
        """What this is to the tools."""
        return self.principal or everywhere(self.shown, Role.SUGGEST)


class Entrance:
    """Knows all tokens."""

    def __init__(
        self,
        token: str | None,
        tokens: Tokens | None = None,
        places: Places | None = None,
        agent: str | None = None,
    ) -> None:
        """`token` None: none is asked for. `places`: of the connections that stay open.

        `agent` is the secret of the token for agents, one of `tokens`.
        """
        self._token = token
        self._tokens = tokens
        self._agent = agent
        self.places = places or Places()

    def admit(self, secret: str) -> Admission | None:
        """Who shows this secret, "" for none; asked again, it tells what holds now."""
        principal = self._principal(secret) if secret else None
        if principal is not None:
            is_agent = self._agent is not None and same_token(secret, self._agent)
            return Admission(principal.name, principal, opens_files=is_agent)
        if self._token is None:
            # A token that was taken back must not open more than it did before.
            return None if secret.startswith(_MARK) else Admission("", None)
        return Admission(SERVER, None) if same_token(secret, self._token) else None

    def watch(self, told: Callable[[], None]) -> Callable[[], None]:
        """Be told, from another thread, when what `admit` says may have changed; gives the end."""
        return self._tokens.watch(told) if self._tokens else lambda: None

    def _principal(self, secret: str) -> Principal | None:
        try:
            return self._tokens.principal(secret) if self._tokens else None
        except FlashgrepError:
            return None  # the file cannot be trusted, and has said so in the log
