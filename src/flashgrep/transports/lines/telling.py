"""What a direct method tells its peer before it answers: notifications on the same connection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any

Tell = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Sends a notification: its method and its parameters."""


async def _nobody(_: str, __: Mapping[str, Any]) -> None:
    pass


TELL: ContextVar[Tell] = ContextVar("TELL", default=_nobody)
"""The way to the peer of the direct method that is running."""
