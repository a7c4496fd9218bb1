"""Lists a tree that was indexed before, while the index itself is still being loaded.

The first search of a new process waits for two things: for numpy and the segments to load, and for
every file to be checked. So other processes start checking as soon as the tree is known to be
large, before the client has said anything. The updater uses what they found instead of its own
first listing. It is as good: every directory was watched before it was listed, so later changes are
in the queue.
"""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path
from typing import Final

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.index.format.enrolled_files import EnrolledFiles, enrolled_by
from flashgrep.index.format.manifest import read_generation
from flashgrep.index.watch.changes import Tree, WatchLimit, remote_mount
from flashgrep.index.watch.tracker import Tracker
from flashgrep.system.child import ChildDied
from flashgrep.workspace.scope import Scope

log = logging.getLogger(__name__)

_LARGE_BYTES: Final = 64 * limits.MIB
"""Bytes of segments: listing the tree of smaller ones takes no longer than starting a process."""


class FirstListing:
    """The first listing of a tree; made only if an earlier server left an index."""

    def __init__(self, scope: Scope, directory: Path, shared: Path | None) -> None:
        """`directory` has the tree's manifest, `shared` the segments if others use them too."""
        self._loaded = threading.Event()
        self._stopped = threading.Event()
        self.tracker = Tracker(scope, scope.workdir)
        self._place = directory, shared
        self._enrolled: EnrolledFiles | None = None
        self._found: Tree | None = None
        self._thread: threading.Thread | None = None

    def begin(self) -> bool:
        """Have other processes list, if the tree is large and can be watched; whether they do."""
        known = self._known()
        if known is None or remote_mount(self.tracker.root):
            return False
        begins = False
        try:
            self.tracker.watch()
            begins = self.tracker.begin_listing(known, self._loaded.is_set)
        except (OSError, ChildDied) as error:
            log.debug("the tree is not listed ahead: %r", error)
        if not begins:
            self.tracker.close()
            return False
        self._enrolled = known
        return True

    def look_after(self) -> None:
        """Take in what they find and hand out what is left, in a thread: it takes turns with all
        that Python does here, so not before the client has its first answer."""
        if self._enrolled is not None:
            self._thread = threading.Thread(target=self._list, name="flashgrep-list", daemon=True)
            self._thread.start()

    def help(self) -> None:
        """This process has loaded what it needs, and lists too."""
        self._loaded.set()

    def take(self) -> tuple[EnrolledFiles, Tree] | None:
        """What was found, once, and the files reported by number; None if nothing was."""
        thread, self._thread = self._thread, None
        if thread is None:
            return None
        thread.join()
        found, self._found = self._found, None
        return None if found is None or self._enrolled is None else (self._enrolled, found)

    def stop(self) -> None:
        """Whatever it is at: it is of no use any more."""
        self._stopped.set()

    def close(self) -> None:
        """The same where nobody has taken the tracker: it ends too."""
        self.stop()
        self.take()
        self.tracker.close()

    def _known(self) -> EnrolledFiles | None:
        directory, shared = self._place
        try:
            generation = read_generation(directory)
            place = shared or directory
            if generation.store != (str(shared) if shared else ""):
                return None
            sizes = [os.stat(place / name).st_size for name in generation.segments]
        except OSError:
            return None
        return enrolled_by(generation, directory, place) if sum(sizes) > _LARGE_BYTES else None

    def _list(self) -> None:
        try:
            self._found = self.tracker.list_everything(self._stopped.is_set, self._enrolled)
        except (Cancelled, OSError, WatchLimit) as error:
            log.debug("the tree was not listed ahead: %r", error)
