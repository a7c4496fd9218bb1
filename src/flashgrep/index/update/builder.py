"""A process that builds segments: takes lists of files on stdin, answers on stdout.

Like a search worker it is started by exec and ends when the server does. It gives way to
everything else on the machine.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.index.watch.listing import Identity
from flashgrep.index.watch.tracker import Tracker
from flashgrep.search.scan.request import Reach, walk_key
from flashgrep.system.child import Child, ChildDied, leave_ending_to_the_server, serve_telling
from flashgrep.workspace.scope import Scope

MODULE: Final = "flashgrep.index.update.builder"
READ: Final = "read"
"""A message on the way to the answer: how many files have been read."""
_NICE: Final = 10
_STEPS: Final = 50
"""About so many of them for a segment: enough for a bar to move."""


class BuildFailed(Exception):
    """The segments could not be written."""


def portions(files: dict[str, Identity], workers: int) -> list[list[str]]:
    """Files in walk order, cut into portions for one segment each."""
    names = sorted(files, key=walk_key)
    total = sum(files[name][0] for name in names)
    room = min(limits.SEGMENT_BYTES, max(total // (2 * workers), limits.SMALL_SEGMENT_BYTES))
    cut: list[list[str]] = []
    size = room
    for name in names:
        if size >= room or len(cut[-1]) >= limits.SEGMENT_FILES:
            cut.append([])
            size = 0
        cut[-1].append(name)
        size += files[name][0]
    return cut


class Builders:
    """Builds segments in as many processes as there are cores."""

    def __init__(self, tracker: Tracker, stopped: Callable[[], bool]) -> None:
        scope = tracker.scope
        self._reach = Reach(
            workdir=scope.workdir,
            allow=scope.allowed,
            deny=scope.denied,
            always_denied=scope.always_denied,
        )
        self._tracker = tracker
        self.stopped = stopped
        self._workers = min(len(os.sched_getaffinity(0)), limits.BUILDERS)

    @property
    def count(self) -> int:
        return self._workers

    def build(
        self, jobs: Sequence[tuple[list[str], str]], done: Callable[[float], None]
    ) -> list[str]:
        """Build a segment of each list of files at each path; gives the files left out.

        `done` is told of work in files, of halves too: one that is read is half done.
        """
        waiting: queue.SimpleQueue[tuple[list[str], str]] = queue.SimpleQueue()
        for job in jobs:
            waiting.put(job)
        left_out: list[str] = []
        failures: list[str] = []

        def work() -> None:
            try:
                self._work(waiting, left_out, failures, done)
            except OSError as error:
                failures.append(f"a building process could not be started: {error}")

        threads = [threading.Thread(target=work) for _ in range(min(self._workers, len(jobs)))]
        try:
            for thread in threads:
                thread.start()
        except RuntimeError as error:
            failures.append(str(error))
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        if self.stopped():
            raise Cancelled("stopped")
        if failures:
            raise BuildFailed(failures[0])
        return left_out

    def _work(
        self,
        waiting: queue.SimpleQueue[tuple[list[str], str]],
        left_out: list[str],
        failures: list[str],
        done: Callable[[float], None],
    ) -> None:
        worker = Child(MODULE)
        try:
            while not self.stopped() and not failures:
                try:
                    names, path = waiting.get_nowait()
                except queue.Empty:
                    break
                files = [(name, self._tracker.real(name)) for name in names]
                worker.send((astuple(self._reach), files, path))
                answer = self._answer(worker, len(names), done)
                if answer is None:
                    break
                kind, body = answer
                if kind == "failed":
                    failures.append(body)
                else:
                    left_out.extend(body)
        except ChildDied:
            failures.append(f"a building process {worker.ending()}; is there enough memory?")
        finally:
            worker.stop(kill=self.stopped())

    def _answer(
        self, worker: Child, files: int, done: Callable[[float], None]
    ) -> tuple[str, Any] | None:
        """What a process answers in the end, passing on how far it is; None once stopped."""
        told = 0.0
        while (answer := worker.receive_unless(self.stopped)) is not None:
            kind, body = answer
            is_last = kind != READ
            now = files if is_last else body / 2
            done(now - told)
            told = now
            if is_last:
                return kind, body
        return None


def _build(message: Any, tell: Callable[[Any], None]) -> tuple[str, Any]:
    from flashgrep.index.update.writer import write_segment

    (workdir, allow, deny, always_denied), files, path = message
    scope = Scope(
        os.fsdecode(workdir), [os.fsdecode(place) for place in allow], deny, always_denied
    )
    step = max(1, len(files) // _STEPS)

    def told(count: int) -> None:
        if count % step == 0:
            tell((READ, count))

    try:
        return "built", write_segment(scope, files, path, told)
    finally:
        scope.close()


def main() -> None:
    """Build for the server until it is gone."""
    leave_ending_to_the_server()
    os.nice(_NICE)
    serve_telling(_build)


if __name__ == "__main__":
    main()
