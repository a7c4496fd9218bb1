"""Who may call on a socket: the token, and what a connection may do before it has shown it."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashgrep.errors import AccessDenied, InvalidParams
from flashgrep.tools.caller import Caller

AUTH = "auth"


def same_token(given: str, token: str) -> bool:
    """Compare in constant time; text that is not Unicode is never the token."""
    return hmac.compare_digest(
        given.encode("utf-8", "surrogatepass"), token.encode("utf-8", "surrogatepass")
    )


@dataclass
class Gate:
    """One connection's standing. `token` None: nothing to show. `locked`: nothing but `auth`."""

    caller: Caller
    token: str | None = None
    locked: bool = False
    reason: str = ""
    """Why it is locked, where that needs saying."""

    def check(self, method: str) -> None:
        """Refuse a method this connection may not use yet."""
        if self.locked and method != AUTH:
            raise AccessDenied(
                f"{method} needs the token first{self.reason}. "
                'Send {"jsonrpc":"2.0","id":1,"method":"auth","params":{"token":…}}.'
            )

    def present(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Answer `auth`: the right token opens everything, a wrong one is `AccessDenied`."""
        given = (params or {}).get("token")
        if not isinstance(given, str):
            raise InvalidParams('auth needs params {"token": "…"}, a string')
        if self.token is not None and not same_token(given, self.token):
            raise AccessDenied(
                "wrong token: auth takes the server's own, not one made for agents or notes; "
                "the connection closes"
            )
        self.locked = False
        self.caller.may_write = True
        return {"ok": True}
