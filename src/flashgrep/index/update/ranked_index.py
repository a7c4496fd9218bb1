"""Keeps the ranked index in step with the segments, in another thread, and answers from it.

Ranking a large tree takes as long as indexing it, and changes have to be folded in meanwhile, so
the updater does not wait for it. Files that are not ranked yet, or have changed since, are read
from disk when a question comes.
"""

from __future__ import annotations

import logging
import math
import os
import stat
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from flashgrep import limits
from flashgrep.errors import Cancelled, FlashgrepError
from flashgrep.index.answer.view import IndexView
from flashgrep.index.format.segment import Segment
from flashgrep.index.update.rescan import rescan_changes
from flashgrep.index.watch.changes import Changes, Identity, identity
from flashgrep.index.watch.tracker import Tracker
from flashgrep.ranking.changed_files import (
    RANKED_OVERLAY_BYTES,
    Changed,
    ChangedFiles,
    OverlayRanking,
)
from flashgrep.ranking.question import RankedFile
from flashgrep.ranking.ranking import RANKING_IDLE_SECONDS, Keeps, RankedTree
from flashgrep.search.decode import lines_of
from flashgrep.system.idle import IdleRelease, trim
from flashgrep.workspace.find import Finder, FindRequest
from flashgrep.workspace.ignore_rules import IgnoreChain
from flashgrep.workspace.safe_open import REGULAR
from flashgrep.workspace.scope import Scope, is_within
from flashgrep.workspace.text import is_text
from flashgrep.workspace.walk import NOISE, is_made_up_place

UNRANKED_FILES: Final = 2_000
"""Changed files that are counted for a question, once each; where there are more, it scans."""

UNRANKED_BYTES: Final = 64 * limits.MIB
"""Text that is counted for a question, at 25 MB a second; if there is more, it scans."""

RANK_REST_SECONDS: Final = 1.5
"""Between the first search a new server can answer and the work on its ranked index."""

RANK_LOOK_SECONDS: Final = 1.0
"""How often a question makes a reader look whether the writer has ranked everything."""

log = logging.getLogger(__name__)


_MANY_WORDS: Final = 100_000
"""Counts that take some megabytes, after a checkout for one: when they go, so does the memory."""


def key_of(segment: Segment) -> str:
    """What the ranked index calls a segment."""
    return os.path.basename(segment.path)


class _CountedFiles(NamedTuple):
    """The last counts, and what they were for; not the view itself, which would keep old segments
    open."""

    view: weakref.ref[IndexView]
    keys: frozenset[str]
    overlay: ChangedFiles


class RankedIndex:
    """The ranked index of the segments, and the thread that ranks them."""

    def __init__(
        self,
        directory: str,
        done: Callable[[], None],
        owner: str = "",
        is_left_over: Callable[[str], bool] = lambda name: True,
    ) -> None:
        self._tree = RankedTree(directory, owner, is_left_over)
        self._overlay = OverlayRanking()
        self._counted: _CountedFiles | None = None
        self._rest_overlay = IdleRelease(self._let_go, RANKING_IDLE_SECONDS)
        self._done = done
        self._followed: Mapping[str, str] = {}
        self._writes = False
        self._looked = -math.inf
        self._wanted: Mapping[str, str] | None = None
        self._changed = threading.Condition()
        self._stopping = False
        self._is_asked = False
        self._thread: threading.Thread | None = None

    @property
    def is_ready(self) -> bool:
        """Whether questions can be answered from it."""
        return self._tree.current is not None

    @property
    def keys(self) -> frozenset[str]:
        """The segments that are ranked."""
        return self._tree.keys

    def follow(self, segments: tuple[Segment, ...], writes: bool) -> None:
        """Rank these segments: write what is missing, or take what another process writes."""
        wanted = {key_of(segment): segment.path for segment in segments}
        self._followed, self._writes = wanted, writes
        if not writes:
            self._tree.open(wanted)
            return
        self._rank(wanted)

    def _rank(self, wanted: Mapping[str, str]) -> None:
        with self._changed:
            self._wanted = wanted
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="flashgrep-rank", daemon=True
                )
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Stop ranking."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
        self._rest_overlay.close()
        self._tree.close()

    def _work(self) -> None:
        while True:
            with self._changed:
                while self._wanted is None and not self._stopping:
                    self._changed.wait()
                wanted, self._wanted = self._wanted, None
                if self._tree.current is None and self._tree.is_there:
                    self._rest()
            if self._stopping or wanted is None:
                return
            self._update(wanted)

    def _rest(self) -> None:
        """Leave the first moments of a server to its searches, unless a question is among them.

        What an earlier server has ranked is read whole and checked before it is used.
        """
        self._changed.wait_for(lambda: self._stopping or self._is_asked, RANK_REST_SECONDS)

    def _update(self, wanted: Mapping[str, str]) -> None:
        try:
            self._tree.update(wanted, lambda: self._stopping)
        except OSError as error:
            log.warning("the ranked index does not grow for now: %s", error)
        self._done()

    # ── answering ───────────────────────────────────────────────────────────────────────────────

    def ranked(
        self, text: str, keeps: Keeps, view: IndexView, tracker: Tracker
    ) -> list[RankedFile] | None:
        """The files that answer a question, best first; None where a scan has to say."""
        if not self.is_ready:
            self._hurry()
            return None
        ranked = self._tree.keys
        overlay = self._overlaid(view, tracker, keeps, ranked)
        if overlay is None:
            return None
        places = {key_of(segment): (segment, alive) for segment, alive in view.snapshot.parts()}

        def name_of(key: str, file: int) -> str | None:
            if key not in places or not places[key][1][file]:
                return None
            return places[key][0].name(file)

        links = _links_by_file(view)

        def keeps_a_name(path: str) -> bool:
            return keeps(path) or any(map(keeps, links.get(path, ())))

        found = self._tree.search(text, name_of, overlay, ranked, keeps_a_name)
        if found is None and self._writes and not self.is_ready:  # damaged
            self._rank(self._followed)
            self._done()
        if found is None or not links:
            return found
        named = (
            file._replace(path=name)
            for file in found
            for name in (file.path, *links.get(file.path, ()))
            if keeps(name)
        )
        return list(islice(named, limits.QUERY_FILES))

    def _hurry(self) -> None:
        """A question came before there is anything to answer it from."""
        with self._changed:
            self._is_asked = True
            self._changed.notify()
            now = time.monotonic()
            is_time = now - self._looked > RANK_LOOK_SECONDS
            self._looked = now if is_time else self._looked
        is_reader = bool(self._followed) and not self._writes
        if is_reader and is_time and self._tree.open(self._followed):
            self._done()  # the process that writes has finished meanwhile

    # ── what is not ranked yet ──────────────────────────────────────────────────────────────────

    def _overlaid(
        self, view: IndexView, tracker: Tracker, keeps: Keeps, ranked: frozenset[str]
    ) -> ChangedFiles | None:
        """The counts of all files that are not ranked; None where they are too many.

        Where nothing happened since the last question, they are as they were: the kernel reports
        every change in a directory that is watched.
        """
        known = self._counted
        is_watched = tracker.fd is not None and not view.subtrees
        if known is not None and is_watched and known.view() is view and known.keys == ranked:
            overlay: ChangedFiles | None = known.overlay
        else:
            self._counted = known = None  # frees the old counts now
            overlay = self._count(view, tracker, keeps, ranked)
        if overlay is not None and overlay.files:
            self._rest_overlay.used()
        return overlay

    def _count(
        self, view: IndexView, tracker: Tracker, keeps: Keeps, ranked: frozenset[str]
    ) -> ChangedFiles | None:
        unranked, links = self._unranked(view, tracker, ranked)
        linked = _linked_files(tracker, view, links)
        if linked is None:
            return None
        unranked += linked
        is_whole = _are_few(unranked)
        wanted = unranked if is_whole else [file for file in unranked if keeps(file.path)]
        is_possible = _are_few(wanted)
        held = self._overlay.words
        overlay = self._overlay.count(wanted if is_possible else ())
        if held > _MANY_WORDS and not overlay.files:
            trim()
        if is_whole and not links:  # what they lead to changes without an event
            self._counted = _CountedFiles(weakref.ref(view), ranked, overlay)
        return overlay if is_possible else None

    def _let_go(self) -> None:
        self._counted = None
        self._overlay.clear()

    def _unranked(
        self, view: IndexView, tracker: Tracker, ranked: frozenset[str]
    ) -> tuple[list[Changed], list[str]]:
        """Files that changed, and files of segments that are not ranked yet; and the links that
        may lead to others."""
        files: list[Changed] = []
        links = dict(view.sure_links)
        changes = Changes(set(view.entries), set(view.subtrees))
        if changes:
            unwatched = Tracker(tracker.scope, tracker.root)
            found = rescan_changes(unwatched, view, changes, lambda: self._stopping)
            links |= {link: to for link, to in found.links.items() if not view.is_certain(link)}
            for name, status in found.files.items():
                read = partial(_text, tracker.scope, tracker.real(name))
                files.append(_changed(name, status, read))
        for segment, alive in view.snapshot.parts():
            if key_of(segment) not in ranked:
                for file in alive.nonzero()[0].tolist():
                    # The identity on disk: what was counted there is not counted again here.
                    read = partial(segment.text, file)
                    files.append(_changed(segment.name(file), segment.identity(file), read))
        return files, [link for link, to in links.items() if not view.has_directory(to)]


def _changed(name: str, status: Identity, read: Callable[[], bytes]) -> Changed:
    return Changed(path=name, identity=status, read=read, changed_ns=status[2], size=status[0])


def _links_by_file(view: IndexView) -> dict[str, list[str]]:
    """The links to each file of the segments."""
    found: dict[str, list[str]] = {}
    for link, place in view.sure_aliases.items():
        found.setdefault(view.snapshot.segments[place.segment].name(place.file), []).append(link)
    return found


def _linked_files(tracker: Tracker, view: IndexView, links: list[str]) -> list[Changed] | None:
    """The files that some links lead to, as a search finds them; None if they are too many.

    A directory outside the tree is walked: nothing reports what changes there.
    """
    files, outside = [], []
    for link in links:
        place, status = _followed(tracker, link)
        if place is None or status is None:
            continue
        if stat.S_ISREG(status.st_mode):
            files.append(_changed(link, identity(status), partial(_text, tracker.scope, place)))
        elif (
            stat.S_ISDIR(status.st_mode)
            and os.path.basename(link) not in NOISE
            and not is_within(place, tracker.root)
        ):
            outside.append((link, place, _chain(tracker, view, link)))
    if not outside:
        return files
    wanted = FindRequest(follow_symlinks=True)
    finder = Finder(
        tracker.scope,
        tracker.root,
        wanted,
        lambda: len(finder.finding.entries) > UNRANKED_FILES,
    )
    try:
        found = finder.below_links(outside).entries
    except Cancelled:
        return None
    for entry in found:
        place, status = _followed(tracker, entry.shown)
        if place is not None and status is not None:
            read = partial(_text, tracker.scope, place)
            files.append(_changed(entry.shown, identity(status), read))
    return files


def _followed(tracker: Tracker, shown: str) -> tuple[bytes | None, os.stat_result | None]:
    """Where a path leads, and its status; None if it is denied, made up or leads nowhere."""
    try:
        place = tracker.scope.follow(tracker.real(shown))
        status = tracker.scope.status(place)
    except FlashgrepError:
        return None, None
    return (None if is_made_up_place(tracker.scope, place.path) else place.path), status


def _chain(tracker: Tracker, view: IndexView, link: str) -> IgnoreChain:
    """The ignore rules in force below a link."""
    parts = link.split("/")[:-1]
    above = ["/".join(parts[:depth]) for depth in range(len(parts) + 1)]
    return tracker.chains(view.above).at(link, tuple((at, tracker.real(at)) for at in above))


def _are_few(files: list[Changed]) -> bool:
    """Whether a question may wait until they are counted."""
    size = sum(min(file.size, RANKED_OVERLAY_BYTES) for file in files)
    return len(files) <= UNRANKED_FILES and size <= UNRANKED_BYTES


def _text(scope: Scope, real: bytes) -> bytes:
    """A file's lines from disk; nothing where it is gone, is not text, or is huge."""
    try:
        fd = scope.open_real(real, REGULAR)
    except (OSError, FlashgrepError):
        return b""
    try:
        data = os.pread(fd, limits.INDEXED_FILE_BYTES, 0)
    except OSError:
        return b""
    finally:
        os.close(fd)
    return lines_of(data) if is_text(data[: limits.SNIFF_BYTES]) else b""
