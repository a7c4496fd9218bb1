"""The files of a corpus that are searched and hold text, with their sizes."""

from __future__ import annotations

import os
from contextlib import suppress

from bench import ripgrep
from bench.corpus import Corpus
from flashgrep import limits
from flashgrep.workspace.text import is_text


def text_files(corpus: Corpus) -> dict[str, int]:
    """Every file ripgrep looks into that is not binary to us: name and bytes, sorted by name."""
    sizes = {}
    for name in sorted(ripgrep.searched_files(corpus.root)):
        with suppress(OSError), open(corpus.root / name, "rb") as file:
            if is_text(file.read(limits.SNIFF_BYTES)):
                sizes[name] = os.fstat(file.fileno()).st_size
    return sizes
