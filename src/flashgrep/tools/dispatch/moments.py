"""Decides which calls run on the thread of the event loop.

A search for a rare word, or a page of a common one, takes hardly longer than a call's way to a
thread and back. While such searches finish in a moment, which shows that what they need is in
memory, the next one is tried at once; the one after a slow search, and the first after a pause, go
to a thread.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from flashgrep.search.at_once import NotAtOnce, at_once

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.call import Answer, Call
    from flashgrep.tools.dispatch.spec import ToolSpec
    from flashgrep.tools.mounts.points import Asked, MountPoint

_MOMENT_SECONDS: Final = 0.01
_WARM_SECONDS: Final = 10.0
"""After a pause, memory may have gone to others."""


class CallMoments:
    """Tells whether calls have lately finished in a moment."""

    def __init__(self) -> None:
        self._until = 0.0

    def are_now(self, spec: ToolSpec) -> bool:
        """Whether calls of a tool are worth a try."""
        return spec.sought is not None and time.monotonic() < self._until

    def tried(self, asked: Asked, point: MountPoint, call: Call) -> Answer | None:
        """The answer of a call that is made at once; None where it is for a thread."""
        begun = time.monotonic()
        seeks = asked.spec.sought if begun < self._until else None
        sought = None if seeks is None else seeks(asked.values)
        if sought is None or not point.is_brief(sought, call):
            return None
        try:
            with at_once():
                return point.answer(asked, call)
        except NotAtOnce:
            return None
        finally:
            now = time.monotonic()
            self._until = now + _WARM_SECONDS if now - begun < _MOMENT_SECONDS else 0.0

    def noted(self, asked: Asked, point: MountPoint, call: Call) -> Answer:
        """The answer of a call in a thread; a brief one shows that the next may be tried."""
        begun = time.monotonic()
        answer = point.answer(asked, call)
        is_brief = (now := time.monotonic()) - begun < _MOMENT_SECONDS
        seeks = asked.spec.sought
        if is_brief and seeks is not None and seeks(asked.values) is not None:
            self._until = now + _WARM_SECONDS
        return answer
