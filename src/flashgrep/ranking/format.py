"""The ranked index on disk: for each segment a small tantivy index, written once.

    <state>/index/ranked/<key of a segment>/   renamed into place when it is complete
        manifest.json                       {"version", "documents", "bytes", "files": {name:
                                            [size, crc32]}, "segments": […]}, and after a newline
                                            the crc32 of all that
        <uuid>.term, .idx, .fast, …         tantivy's own files

A document is a file, or a piece of about 256 KB of a larger one: the best lines of the few files
that are shown are found in their text, which is then as fresh as the disk. Documents of 80 lines
were measured too: half as much again on disk, and worse answers (docs/design.md).

    body     parts of words (see `words`), with frequencies
    defs     names that look defined here (see `landmarks`), as parts
    whole    those names that have several parts, as a whole, without frequencies
    name     the file's own name, without extension     path    its directories
    segment, file, piece     which segment and file it is of, and which piece of that

To search, all indexes of a snapshot are opened as one: hard links to their files and a `meta.json`
that lists them, in a directory that is removed once they are mapped. So word frequencies are those
of the whole tree, files are never changed after they were written, and a segment that is dropped is
simply not listed. tantivy itself would merge and delete in place, in a writer that holds the
interpreter's lock.

Measured on the Linux tree: see docs/design.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import threading
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from flashgrep.ranking.words import LONGEST_COMPOUND, LONGEST_PART, compounds, landmarks, spaced
from flashgrep.system.atomic import checksums, is_ours_alone, open_own, open_private

if TYPE_CHECKING:
    import tantivy

VERSION: Final = 2
MANIFEST: Final = "manifest.json"
META: Final = "meta.json"
VIEW_PREFIX: Final = "view-"
DRAFT_SUFFIX: Final = ".new"
PARTS_ANALYZER: Final = "parts"
WHOLE_ANALYZER: Final = "whole"
TEXT_FIELDS: Final = ("body", "defs", "name", "path")
NUMBER_FIELDS: Final = ("segment", "file", "piece")


class DamagedRanking(Exception):
    """A ranked index that is not what was written."""


@dataclass(frozen=True)
class RankingManifest:
    """What was written for one segment."""

    documents: int
    text_bytes: int
    files: dict[str, list[int]]
    segments: list[Any]
    index: dict[str, Any]
    """The rest of tantivy's `meta.json`."""


def key_number(key: str) -> int:
    """The number of a segment in its documents: positive, and the same in every process."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) >> 2


def schema() -> tantivy.Schema:
    """The fields of a document."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    for name in TEXT_FIELDS:
        builder.add_text_field(name, tokenizer_name=PARTS_ANALYZER, index_option="freq")
    builder.add_text_field("whole", tokenizer_name=WHOLE_ANALYZER, index_option="basic")
    for name in NUMBER_FIELDS:
        # Not unsigned: that field, given a Python int, kills tantivy's writer thread.
        builder.add_integer_field(name, fast=True)
    return builder.build()


def analyzers() -> tuple[tantivy.TextAnalyzer, tantivy.TextAnalyzer]:
    """What cuts the fields into words: those of parts, and that of whole words."""
    import tantivy

    def analyzer(tokenizer: tantivy.Tokenizer, longest: int) -> tantivy.TextAnalyzer:
        # tantivy drops tokens of as many bytes as this, and longer ones.
        shortened = tantivy.TextAnalyzerBuilder(tokenizer).filter(
            tantivy.Filter.remove_long(longest + 1)
        )
        return shortened.filter(tantivy.Filter.lowercase()).build()

    return (
        analyzer(tantivy.Tokenizer.simple(), LONGEST_PART),
        analyzer(tantivy.Tokenizer.whitespace(), LONGEST_COMPOUND),
    )


def register_analyzers(index: tantivy.Index) -> None:
    """Give an index the tokenizers its schema names."""
    by_parts, by_whole = analyzers()
    index.register_tokenizer(PARTS_ANALYZER, by_parts)
    index.register_tokenizer(WHOLE_ANALYZER, by_whole)


# ── writing ─────────────────────────────────────────────────────────────────────────────────────


def write_manifest(directory: str, documents: int, text_bytes: int) -> None:
    """Describe a committed index; nothing is written to it afterwards."""
    with open_own(os.path.join(directory, META)) as file:
        meta = json.load(file)
    segments = meta.pop("segments")
    stems = {entry["segment_id"].replace("-", "") for entry in segments}
    names = sorted(os.listdir(directory))
    kept = [name for name in names if name.split(".")[0] in stems]
    for name in set(names) - set(kept):
        os.unlink(os.path.join(directory, name))
    files = dict(zip(kept, checksums(directory, kept), strict=True))
    body = json.dumps(
        {
            "version": VERSION,
            "documents": documents,
            "bytes": text_bytes,
            "files": files,
            "segments": segments,
            "index": meta,
        }
    ).encode()
    with open_private(os.path.join(directory, MANIFEST)) as manifest:
        manifest.write(body + b"\n" + str(zlib.crc32(body)).encode() + b"\n")
        manifest.flush()
        os.fsync(manifest.fileno())


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


def read_manifest(directory: str) -> RankingManifest:
    """The manifest of one segment's index; `DamagedRanking` where it or a file is off."""
    try:
        manifest = os.path.join(directory, MANIFEST)
        if not all(is_ours_alone(os.lstat(path)) for path in (directory, manifest)):
            raise DamagedRanking(f"{directory} is not ours alone")
        with open_own(manifest) as file:
            body, checksum = file.read().rsplit(b"\n", 2)[:2]
        if int(checksum) != zlib.crc32(body):
            raise DamagedRanking(f"{directory}: the manifest is damaged")
        data = json.loads(body)
        if data["version"] != VERSION:
            raise DamagedRanking(f"{directory} is of another version")
        return RankingManifest(
            documents=data["documents"],
            text_bytes=data["bytes"],
            files=data["files"],
            segments=data["segments"],
            index=data["index"],
        )
    except (OSError, ValueError, KeyError) as error:
        raise DamagedRanking(f"{directory}: {error}") from None


def verify(directory: str, manifest: RankingManifest) -> None:
    """Compare every file with what was written; 0.1 s for the Linux tree."""
    try:
        sums = checksums(directory, manifest.files)
    except OSError as error:
        raise DamagedRanking(f"{directory}: {error}") from None
    for name, found in zip(manifest.files, sums, strict=True):
        if found != manifest.files[name]:
            raise DamagedRanking(f"{os.path.join(directory, name)} is damaged")


class Checked:
    """The manifests of the indexes below a directory, each checked whole when it is first used.

    An index is read again only if the status of a file in it says that it was written:
    under constant edits, what did not change would be read at every change.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, tuple[RankingManifest, list[os.stat_result]]] = {}
        self._lock = threading.Lock()

    def manifest(self, key: str) -> RankingManifest:
        """The manifest of a segment's index; `DamagedRanking` where it or a file is off."""
        directory = os.path.join(self._root, key)
        with self._lock:
            known = self._known.pop(key, None)
        if known is None or not _is_same(known[1], _statuses(directory, known[0])):
            manifest = read_manifest(directory)
            before = _statuses(directory, manifest)
            verify(directory, manifest)
            known = manifest, before
        with self._lock:
            self._known[key] = known
        return known[0]

    def keep(self, keys: Collection[str]) -> None:
        """Forget the others."""
        with self._lock:
            self._known = {key: known for key, known in self._known.items() if key in keys}


def _statuses(directory: str, manifest: RankingManifest) -> list[os.stat_result]:
    names = ("", MANIFEST, *manifest.files)
    try:
        return [os.lstat(os.path.join(directory, name)) for name in names]
    except OSError as error:
        raise DamagedRanking(f"{directory}: {error}") from None


def _is_same(before: list[os.stat_result], now: list[os.stat_result]) -> bool:
    """Whether nothing was written meanwhile; not by ctime, which a link to a file changes too."""
    return all(
        (a.st_ino, a.st_size, a.st_mtime_ns, a.st_uid, a.st_mode)
        == (b.st_ino, b.st_size, b.st_mtime_ns, b.st_uid, b.st_mode)
        for a, b in zip(before, now, strict=True)
    )


def open_as_one(
    root: str, parts: Sequence[tuple[str, RankingManifest]], owner: str = ""
) -> tantivy.Searcher:
    """One searcher over the indexes of several segments: their directories and manifests."""
    import tantivy

    view = tempfile.mkdtemp(prefix=VIEW_PREFIX + owner, dir=root)
    try:
        for directory, manifest in parts:
            for name in manifest.files:
                os.link(os.path.join(directory, name), os.path.join(view, name))
        segments = [entry for _, manifest in parts for entry in manifest.segments]
        with open_private(os.path.join(view, META)) as file:
            file.write(json.dumps({**parts[0][1].index, "segments": segments}).encode())
        index = tantivy.Index.open(view)
        index.config_reader("manual")  # the default watches the directory in a thread
        index.reload()
        return index.searcher()
    except (OSError, ValueError) as error:
        raise DamagedRanking(f"{root}: {error}") from None
    finally:
        shutil.rmtree(view, ignore_errors=True)


def text_fields(path: str, text: bytes) -> dict[str, str]:
    """The text fields of a document."""
    defined = b"\n".join(name for _, name in landmarks(text, 0, len(text)))
    directories, name = os.path.split(path)
    return {
        "body": spaced(text).decode("utf-8", "replace"),
        "whole": " ".join(compounds(defined)),
        "defs": spaced(defined).decode("utf-8", "replace"),
        "name": _parts_of(PurePosixPath(name).stem),
        "path": _parts_of(directories),
    }


@lru_cache(1024)
def _parts_of(path: str) -> str:
    return spaced(os.fsencode(path)).decode("utf-8", "replace")
