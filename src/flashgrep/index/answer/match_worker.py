"""A process that matches what the server hands it out of segments that it maps itself.

A loop over files that match holds the interpreter, so a thread would only take turns with it.

    ("match", pattern, counting, is_dense, [(segment, kind, numbers, numbers), …])
        → ("matched", [(files, counts), …])    columns of int64
        → ("damaged", segment, what)
    ("release",)    lets mapped pages go; no answer
    ("hello",)      → ("hello",)
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from flashgrep.index.answer.match import Runs, Texts, Work, matched
from flashgrep.index.format.segment import DamagedSegment, Segment
from flashgrep.search.match_count import Counter
from flashgrep.search.pattern import PatternSpec, may_take_long
from flashgrep.system.child import serve

Packed = tuple[str, str, bytes, bytes]


def packed(work: Work) -> Packed:
    """Some work as a message holds it."""
    if isinstance(work, Texts):
        return work.segment.path, "texts", work.files.astype(np.int64).tobytes(), b""
    firsts, pasts = work.firsts.astype(np.int64), work.pasts.astype(np.int64)
    return work.segment.path, "runs", firsts.tobytes(), pasts.tobytes()


class MatchJobs:
    """The segments this process has mapped, and what it matches in them."""

    def __init__(self) -> None:
        self._segments: dict[str, Segment] = {}

    def handle(self, message: Any) -> Any:
        if message[0] == "hello":
            return message
        if message[0] == "release":
            for segment in self._segments.values():
                segment.release()
            return None
        _, pattern, counting, is_dense, shares = message
        counter = Counter(PatternSpec(*pattern), counting)
        try:
            hits = [matched(counter, self._work(share), is_dense) for share in shares]
        except DamagedSegment as error:
            self._segments.pop(error.path, None)
            return "damaged", error.path, error.what
        except OSError:
            return ("gone",)  # the writer has put another in its place; who asks has it mapped
        return "matched", [(files.tobytes(), counts.tobytes()) for files, counts in hits]

    def _work(self, share: Packed) -> Work:
        path, kind, first, second = share
        segment = self._segment(path)
        if kind == "texts":
            return Texts(segment, np.frombuffer(first, np.int64))
        return Runs(segment, np.frombuffer(first, np.int64), np.frombuffer(second, np.int64))

    def _segment(self, path: str) -> Segment:
        if path not in self._segments:
            # A segment that was dropped must not keep its place on the disk because of us.
            for gone in [known for known in self._segments if not os.path.exists(known)]:
                del self._segments[gone]
            self._segments[path] = Segment(path, is_checked=True)
        return self._segments[path]


def main() -> None:
    """Match for the server until it is gone."""
    may_take_long()
    serve(MatchJobs().handle)


if __name__ == "__main__":
    main()
