"""The SDK's sessions on HTTP: at the limit, the one idle longest makes room for a new one.

The SDK refuses whoever comes when there are as many as may be. A script that begins a session for
every call and ends none would lock everybody out for half an hour.
"""

from __future__ import annotations

import math
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


class Sessions(StreamableHTTPSessionManager):
    """Sessions that come and go."""

    def __init__(self, server: Any, most: int) -> None:
        super().__init__(server, max_sessions=most)
        self._most = most

    def _admit_session(
        self, requestor: AuthorizationContext | None
    ) -> StreamableHTTPServerTransport | None:
        if len(self._server_instances) >= self._most:
            self._end_idlest()
        return super()._admit_session(requestor)

    def _end_idlest(self) -> None:
        """End the session whose last request is longest ago; none where all are being served."""
        ends = {key: _end(session) for key, session in self._server_instances.items()}
        key = min(ends, key=ends.__getitem__)
        if ends[key] < math.inf:
            session = self._server_instances.pop(key)
            self._session_owners.pop(key, None)
            if session.idle_scope is not None:
                session.idle_scope.cancel()


def _end(session: StreamableHTTPServerTransport) -> float:
    """When a session would be ended for being idle."""
    return math.inf if session.idle_scope is None else session.idle_scope.deadline
