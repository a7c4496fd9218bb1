"""The ranked index of a workspace: in step with the segments, and searched with what changed since.

`RankedTree` is what the ranked index holds. `update` brings the directory in step with a
snapshot's segments, in processes of its own; `search` answers from it and from changed files.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final

from flashgrep import limits
from flashgrep.ranking.changed_files import NOTHING, ChangedFiles
from flashgrep.ranking.format import VIEW_PREFIX, Checked, DamagedRanking
from flashgrep.ranking.question import RankedQuestion
from flashgrep.ranking.ranking import Keeps, NameOf, Ranking
from flashgrep.ranking.scoring import RankedFile
from flashgrep.system.atomic import make_private
from flashgrep.system.child import Child, ChildDied, readable

log = logging.getLogger(__name__)

_MODULE: Final = "flashgrep.index.update.rank_writer"
_TURN_SECONDS: Final = 0.2
_ATTEMPTS: Final = 2
_MOST: Final = 2

Stopped = Callable[[], bool]
Report = Callable[[int, int], None]


class RankedTree:
    """The ranked index of one workspace, in one directory of the state."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._ranking: Ranking | None = None
        self._checked = Checked(root)
        self._is_tidy = False
        """What an earlier process left half made is gone; what is there now is being opened."""
        self._lock = threading.Lock()

    # ── keeping in step ─────────────────────────────────────────────────────────────────────────

    def update(
        self,
        segments: Mapping[str, str],
        stopped: Stopped = lambda: False,
        report: Report = lambda done, total: None,
    ) -> bool:
        """Rank these segments (key: path of the segment file) and no others; True when all are.

        Only the one process that may write the index calls this.
        """
        make_private(self._root)
        missing = [key for key in segments if not self._is_sound(key)]
        done = _write(self._root, {key: segments[key] for key in missing}, stopped, report)
        if done:
            self.open(segments)
            self._drop_all_but(segments)
        return done

    def open(self, keys: Iterable[str]) -> bool:
        """Search these segments from now on; False, and no change, where one is not ranked yet."""
        wanted = list(keys)
        try:
            ranking = Ranking(self._root, wanted, self._checked)
        except DamagedRanking as error:
            log.info("the ranked index is not complete: %s", error)
            return False
        self._checked.keep(wanted)
        with self._lock:
            before, self._ranking = self._ranking, ranking
        if before is not None:
            before.close()
        return True

    def close(self) -> None:
        """Let the files go; searches answer None from now on."""
        if (ranking := self._ranking) is not None:
            self._close(ranking)

    def _close(self, ranking: Ranking) -> bool:
        """Let one go, if it still is the one that is searched."""
        with self._lock:
            is_current = self._ranking is ranking
            if is_current:
                self._ranking = None
        if is_current:
            ranking.close()
        return is_current

    @property
    def is_ready(self) -> bool:
        return self._ranking is not None

    @property
    def is_there(self) -> bool:
        """Whether an earlier server has ranked something."""
        return os.path.isdir(self._root)

    @property
    def keys(self) -> frozenset[str]:
        """The segments that are ranked; files of others have to be given as changed."""
        ranking = self._ranking
        return frozenset() if ranking is None else ranking.keys

    @property
    def documents(self) -> int:
        ranking = self._ranking
        return ranking.documents if ranking is not None else 0

    def size_bytes(self) -> int:
        """Bytes on disk."""
        return sum(
            os.path.getsize(os.path.join(directory, name))
            for directory, _, names in os.walk(self._root)
            for name in names
        )

    def _is_sound(self, key: str) -> bool:
        try:
            self._checked.manifest(key)
        except DamagedRanking:
            return False
        return True

    def _drop_all_but(self, keys: Iterable[str]) -> None:
        for name in set(os.listdir(self._root)) - set(keys):
            if not (name.startswith(VIEW_PREFIX) and self._is_tidy):
                shutil.rmtree(os.path.join(self._root, name), ignore_errors=True)
        self._is_tidy = True

    # ── searching ───────────────────────────────────────────────────────────────────────────────

    def search(
        self,
        text: str,
        name_of: NameOf,
        overlay: ChangedFiles = NOTHING,
        keys: frozenset[str] | None = None,
        keeps: Keeps = lambda path: True,
    ) -> list[RankedFile] | None:
        """The files that answer, best first; None where nothing can be said: scan then.

        `overlay` has the files that changed; `keeps` chooses among all. `keys` are the segments
        that whoever asks takes for ranked; others may be by now.
        """
        ranking = self._ranking
        if ranking is None or (keys is not None and keys != ranking.keys):
            return None
        try:
            return _answer(ranking, RankedQuestion(text), name_of, overlay, keeps)
        except DamagedRanking as error:
            if self._close(ranking):
                log.warning("the ranked index is damaged and is written again: %s", error)
                self._checked.keep(())  # its files look as they did, and are not
            # Else another has taken its place, and its files are gone.
            return None


def _answer(
    ranking: Ranking, question: RankedQuestion, name_of: NameOf, overlay: ChangedFiles, keeps: Keeps
) -> list[RankedFile]:
    found = ranking.search(question, name_of, limits.QUERY_FILES, keeps)
    if not overlay.files:
        return found
    newer = overlay.search(question, ranking.documents, ranking.text_bytes, ranking.count)
    kept = [file for file in found if not overlay.holds(file.path)]
    kept += [file for file in newer if keeps(file.path)]
    ordered = sorted(kept, key=lambda file: (-file.score, file.path))
    return ordered[: limits.QUERY_FILES]


def _write(root: str, segments: Mapping[str, str], stopped: Stopped, report: Report) -> bool:
    """Write the ranked indexes of these segments in processes, one a core.

    The largest first: with one of them last, all but one core would wait for it.
    """
    waiting = [(key, path, 1) for key, path in segments.items()]
    waiting.sort(key=lambda job: os.path.getsize(job[1]), reverse=True)
    busy: dict[int, tuple[Child, tuple[str, str, int]]] = {}
    idle: list[Child] = []
    done, failed = 0, False
    try:
        while (waiting or busy) and not failed:
            while waiting and len(busy) < min(len(os.sched_getaffinity(0)), _MOST):
                writer = idle.pop() if idle else Child(_MODULE)
                job = waiting.pop(0)
                busy[writer.out] = (writer, job)
                _begin(writer, job[1], root, job[0])
            for out in readable(busy, _TURN_SECONDS):
                writer, job = busy.pop(out)
                if _is_done(writer):
                    done += 1
                    idle.append(writer)
                    report(done, len(segments))
                    continue
                writer.stop(kill=True)  # a draft it leaves is begun anew
                failed = job[2] >= _ATTEMPTS
                waiting.append((job[0], job[1], job[2] + 1))
            if stopped():
                return False
    finally:
        for writer in (*idle, *(writer for writer, _ in busy.values())):
            writer.stop(kill=True)
    return not failed


def _begin(writer: Child, segment_path: str, root: str, key: str) -> None:
    """Ask for one segment; a process that died is noticed when its answer is read."""
    with suppress(ChildDied):
        writer.send((segment_path, root, key))


def _is_done(writer: Child) -> bool:
    """Take the answer: whether the segment was written."""
    try:
        kind, told = writer.receive()
    except ChildDied:
        kind, told = "failed", "the process died"
    if kind != "written":
        log.warning("ranking a segment failed: %s", told)
    return bool(kind == "written")
