"""Which calls are made on the thread of the event loop.

A search for a rare word takes less than a call's way to a thread and back. While such searches are
over in a moment, which shows that what they need is in memory, the next one is tried at once; the
first that was not, and the first after a pause, go to a thread.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from flashgrep.search.at_once import NotAtOnce, at_once

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.call import Answer, Call
    from flashgrep.tools.mounts.points import Asked, MountPoint

_MOMENT_SECONDS: Final = 0.01
_WARM_SECONDS: Final = 10.0
"""After a pause, memory may have gone to others."""


class CallMoments:
    """Whether calls are over in a moment these days."""

    def __init__(self) -> None:
        self._until = 0.0

    def tried(self, asked: Asked, point: MountPoint, call: Call) -> Answer | None:
        """The answer of a call that is made at once; None where it is for a thread."""
        begun = time.monotonic()
        sought = asked.spec.sought(asked.values) if begun < self._until else None
        if sought is None or not point.is_rare(sought, call):
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
        if is_brief and asked.spec.sought(asked.values) is not None:
            self._until = now + _WARM_SECONDS
        return answer
