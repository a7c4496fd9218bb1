"""Real segments of made-up files, with blocks as small as a test likes them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from flashgrep.index.format.roster import Roster
from flashgrep.index.format.segment import Segment
from flashgrep.index.update import writer
from flashgrep.search.result import walk_key
from flashgrep.workspace.scope import Scope


@contextmanager
def block_bytes(size: int) -> Iterator[None]:
    """Cut files into pieces, and join pieces into blocks, of at most this size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "BLOCK_BYTES", size)
        yield


def made(directory: Path, files: Mapping[str, bytes], name: str = "one.seg") -> Segment:
    """A segment of these files, in walk order; they are in `directory/files`."""
    root = directory / "files"
    named = []
    for shown in sorted(files, key=walk_key):
        real = os.fsencode(root / shown)
        os.makedirs(os.path.dirname(real), exist_ok=True)
        with open(real, "wb") as file:
            file.write(files[shown])
        named.append((shown, real))
    scope = Scope(str(directory))
    try:
        written = writer.write_segment(scope, named, str(directory / name))
    finally:
        scope.close()
    assert not written.left_out
    segment = Segment(str(directory / name))
    status = np.frombuffer(written.status, np.int64).reshape(-1, 4)
    segment.roster = Roster(status, np.frombuffer(written.racy, np.uint8) != 0)
    return segment


def owner(segment: Segment, piece: int) -> str:
    """The name of the file a piece belongs to."""
    return segment.name(int(segment.owners[piece]))


def piece_text(segment: Segment, piece: int) -> bytes:
    """The lines of a piece."""
    return bytes(segment.buffer[int(segment.starts[piece]) : int(segment.ends[piece])])
