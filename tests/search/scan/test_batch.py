"""Small files matched together: one that goes while they wait is still one that matched."""

from __future__ import annotations

import os
from pathlib import Path

from flashgrep.search.match_count import Counter
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import FoundFile
from flashgrep.search.scan.batch import FileBatch, modified


def test_a_file_that_vanished_after_it_was_read_is_the_oldest(tmp_path: Path) -> None:
    for name in ("gone", "there"):
        (tmp_path / name).write_text("x\n")
        os.utime(tmp_path / name, ns=(5, 5))
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        batch = FileBatch(Counter(PatternSpec("x"), "files"))
        for name in ("gone", "there"):
            fd = os.open(name, os.O_RDONLY, dir_fd=directory)
            assert batch.read(fd, "d/", name, directory)
            os.close(fd)
        (tmp_path / "gone").unlink()
        assert batch.flush() == [FoundFile("d/gone", 1, 0), FoundFile("d/there", 1, 5)]
        assert modified("gone", directory) == 0
    finally:
        os.close(directory)
