"""The process that writes ranked indexes: takes segments on stdin, one at a time, ends with stdin.

Started by exec, as search workers are, and for one reason more: tantivy's writer holds the
interpreter's lock while it commits.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from flashgrep.index.format.header import DamagedSegment
from flashgrep.index.format.segment import BINARY, Segment
from flashgrep.ranking.format import (
    DRAFT_SUFFIX,
    DamagedRanking,
    key_number,
    read_manifest,
    register_analyzers,
    schema,
    text_fields,
    verify,
    write_manifest,
)
from flashgrep.ranking.question import PIECE_BYTES
from flashgrep.system.atomic import put_in_place
from flashgrep.system.child import leave_ending_to_the_server, serve

if TYPE_CHECKING:
    import tantivy

_HEAP_BYTES: Final = 192 * 1024 * 1024
"""tantivy begins another of its segments when this is full: enough for one of ours."""


def write_ranked(segment_path: str, root: str, key: str, owner: str = "") -> int:
    """Write the ranked index of a segment, whole or not at all; how many documents it has."""
    import tantivy

    segment = Segment(segment_path, is_checked=True)  # by the server, when it opened it
    directory = os.path.join(root, key)
    draft = f"{directory}.{owner}{DRAFT_SUFFIX}"
    number = key_number(key)
    shutil.rmtree(draft, ignore_errors=True)
    os.mkdir(draft, 0o700)
    index = tantivy.Index(schema(), draft)
    register_analyzers(index)
    writer = index.writer(_HEAP_BYTES, 1)
    documents = text_bytes = 0
    for file, piece, text in pieces(segment):
        writer.add_document(_document(segment.name(file), number, file, piece, text))
        documents += 1
        text_bytes += len(text)
    writer.commit()
    writer.wait_merging_threads()
    write_manifest(draft, documents, text_bytes)
    _put_in_place(draft, directory)
    return documents


def _put_in_place(draft: str, directory: str) -> None:
    """Give a finished index its name, unless another tree was faster."""
    try:
        verify(directory, read_manifest(directory))
    except DamagedRanking:
        shutil.rmtree(directory, ignore_errors=True)
        put_in_place(draft, directory, is_durable=False)
    else:
        shutil.rmtree(draft)


def pieces(segment: Segment) -> Iterator[tuple[int, int, bytes]]:
    """What a document is made of: file, piece of it, text."""
    for file in range(segment.files):
        if segment.flags[file] & BINARY:
            continue
        text = segment.text(file)
        if len(text) <= PIECE_BYTES:
            yield file, 0, text
            continue
        for number, piece in enumerate(_cut(text)):
            yield file, number, piece


def _cut(text: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(text):
        end = text.rfind(b"\n", at, at + PIECE_BYTES) + 1 or at + PIECE_BYTES
        yield text[at:end]
        at = end


def _document(path: str, segment: int, file: int, piece: int, text: bytes) -> tantivy.Document:
    import tantivy

    document = tantivy.Document()
    for field, value in text_fields(path, text).items():
        document.add_text(field, value)
    for field, number in (("segment", segment), ("file", file), ("piece", piece)):
        document.add_integer(field, number)
    return document


def _written(message: tuple[str, str, str, str]) -> tuple[str, Any]:
    try:
        return "written", write_ranked(*message)
    except (ValueError, OSError, DamagedSegment) as error:  # tantivy raises ValueError
        return "failed", f"{type(error).__name__}: {error}"


def main() -> None:
    """Write for the server until it is gone."""
    leave_ending_to_the_server()
    serve(_written)


if __name__ == "__main__":
    main()
