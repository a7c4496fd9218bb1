"""Searches that answered with a page, kept so that the next page can continue from there.

A search is taken out while in use, so no two calls share one. It is usable only with the view it
was made with: any change of the tree makes another view, and searches of older views are dropped,
so that nothing keeps replaced segments.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from flashgrep import limits
from flashgrep.index.answer.indexed_search import IndexedScan
from flashgrep.index.answer.view import IndexView

KEPT_EACH: Final = 3
"""Kept searches per connection."""
KEPT_BYTES: Final = 8 * limits.MIB
"""Bytes per connection; a search that would take more is not kept."""
KEPT_ALL: Final = 32
KEPT_ALL_BYTES: Final = 64 * limits.MIB
"""Bytes over all connections: the search unused for longest goes first."""

Asked = tuple[str, object]
"""The connection, and what it asked."""


class KeptScans:
    """The searches that can be continued."""

    def __init__(self) -> None:
        self._scans: OrderedDict[Asked, tuple[IndexedScan, int]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, asked: Asked, view: IndexView) -> IndexedScan | None:
        """A search of this view that was kept for the same question."""
        with self._lock:
            for key in [key for key, (scan, _) in self._scans.items() if scan.view is not view]:
                del self._scans[key]
            kept = self._scans.pop(asked, None)
            return None if kept is None else kept[0]

    def keep(self, asked: Asked, scan: IndexedScan) -> bool:
        """Keep a search, if it has more to give and is not too large; whether it is."""
        size = scan.kept_bytes
        if size is None or size > KEPT_BYTES:
            return False
        with self._lock:
            self._scans[asked] = scan, size
            own = [key for key in self._scans if key[0] == asked[0]]
            while len(own) > KEPT_EACH or self._bytes(own) > KEPT_BYTES:
                del self._scans[own.pop(0)]
            while len(self._scans) > KEPT_ALL or self._bytes(self._scans) > KEPT_ALL_BYTES:
                self._scans.popitem(last=False)
        return True

    def _bytes(self, keys: Iterable[Asked]) -> int:
        return sum(self._scans[key][1] for key in keys)

    def clear(self) -> None:
        """Let go of all of them."""
        with self._lock:
            self._scans.clear()
