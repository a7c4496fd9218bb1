"""Indexes that are kept below `.bench/`, so that parts measure on one that is already there."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.corpus import SCRATCH, Corpus
from bench.direct import ask
from bench.processes import settle
from bench.served import Server, serving

_LOOK_SECONDS = 0.1
_PATIENCE_SECONDS = 3600.0


def state_of(corpus: Corpus) -> Path:
    """Where the index of a tree is kept."""
    digest = hashlib.blake2b(os.fsencode(corpus.root), digest_size=6).hexdigest()
    path = (SCRATCH / "state" / digest).resolve()
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def wait_for(server: Server, what: str) -> dict[str, Any]:
    """Wait until `stats` says that something is ready, and give all that it says."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        stats: dict[str, Any] = ask(server, "stats")
        if stats[what]:
            return stats
        if stats["state"] == "off":
            break
        time.sleep(_LOOK_SECONDS)
    raise RuntimeError(f"not {what}: {stats}")


@contextmanager
def indexed(corpus: Corpus, *flags: str) -> Iterator[Server]:
    """A server whose index is complete, and which has come to rest."""
    with serving(corpus.root, *flags, state=state_of(corpus)) as server:
        wait_for(server, "grep_ready")
        wait_for(server, "query_ready")
        settle(server)
        yield server
