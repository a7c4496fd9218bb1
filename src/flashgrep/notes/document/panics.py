"""Panics of the CRDT engine, which are no Python exceptions, told as failures.

pycrdt raises `pyo3_runtime.PanicException` for a bug or a bad offset. It is a `BaseException`, so
that `except Exception` lets it through to the end of the thread, and its class cannot be imported.
Whoever sees a `Panicked` throws the document away and loads it again from the journal.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from flashgrep.errors import IOFailure

_MODULE: Final = "pyo3_runtime"


class Panicked(IOFailure):
    """The CRDT engine failed within itself; what is in memory of this note cannot be trusted."""


@contextmanager
def panics_told() -> Iterator[None]:
    """Turn a panic inside the block into `Panicked`."""
    try:
        yield
    except BaseException as error:
        if type(error).__module__ != _MODULE:
            raise
        raise Panicked(
            f"the note's engine failed ({error}); nothing was changed, the note is loaded again"
        ) from None
