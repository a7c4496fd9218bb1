"""Who may call on a socket: the token, and what a connection may do before it has shown it."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flashgrep.errors import AccessDenied, InvalidParams
from flashgrep.tools.dispatch.caller import Caller

if TYPE_CHECKING:
    from flashgrep.transports.http.admission import Admission, Entrance

AUTH = "auth"


def same_token(given: str, token: str) -> bool:
    """Compare in constant time; text that is not Unicode is never the token."""
    return hmac.compare_digest(
        given.encode("utf-8", "surrogatepass"), token.encode("utf-8", "surrogatepass")
    )


class TokenEnded(AccessDenied):
    """The token that a connection came with counts no more, and the connection closes."""


@dataclass
class Gate:
    """One connection's standing. `entrance` None: any token will do. `locked`: nothing but `auth`.

    A connection may show another token later: then it is what that one says. One that showed a
    token of the knowledge base is over when that is revoked or expires.
    """

    caller: Caller
    entrance: Entrance | None = None
    locked: bool = False
    reason: str = ""
    """Why it is locked, where that needs saying."""
    _own: str = field(init=False)
    """What the server's own token is called on this connection."""
    _shown: tuple[str, Admission] | None = field(default=None, init=False, repr=False)
    """A token of the knowledge base that was shown, and what it was found to be."""

    def __post_init__(self) -> None:
        self._own = self.caller.token

    def check(self, method: str) -> None:
        """Refuse a method this connection may not use yet, or not any more."""
        if method == AUTH:
            return
        if self.locked:
            raise AccessDenied(
                f"{method} needs the token first{self.reason}. "
                'Send {"jsonrpc":"2.0","id":1,"method":"auth","params":{"token":…}}.'
            )
        if self.is_over():
            raise TokenEnded("the token was taken back or has expired; the connection closes")

    def present(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Answer `auth`: a token opens what it opens on HTTP, a wrong one is `AccessDenied`."""
        given = (params or {}).get("token")
        if not isinstance(given, str):
            raise InvalidParams('auth needs params {"token": "…"}, a string')
        if self.entrance is not None:
            admission = self.entrance.admit(given)
            if admission is None:
                raise AccessDenied(
                    "the token is wrong, expired or taken back; the connection closes"
                )
            self._shown = (given, admission) if admission.principal else None
            self._become(admission)
        self.locked = False
        self.caller.may_write = True
        return {"ok": True}

    def _become(self, admission: Admission) -> None:
        name = admission.token if admission.principal else self._own
        self.caller.come_with(name, admission.on_tools, notes_only=not admission.opens_files)

    # ── tokens that end ─────────────────────────────────────────────────────────────────────────

    @property
    def may_end(self) -> bool:
        """Whether it came with a token that can be taken back while it is open."""
        return self._shown is not None

    def is_over(self) -> bool:
        """Whether the token it came with counts no more."""
        if self._shown is None or self.entrance is None:
            return False
        secret, known = self._shown
        admission = self.entrance.admit(secret)
        if admission is not None and admission != known:
            self._shown = (secret, admission)
            self._become(admission)
        return admission is None

    def watch(self, told: Callable[[], None]) -> Callable[[], None]:
        """Be told, from another thread, when `is_over` may have changed; gives the end of that."""
        return self.entrance.watch(told) if self.entrance is not None else lambda: None
