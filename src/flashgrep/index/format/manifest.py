"""The manifest of a tree's index: which segments count, and where the tree is.

One line of JSON and one line with its crc32 in hex, put in place by a rename:

    {"format": 3, "base": 1, "segments": [["a1….seg", "a1….roster"], …], "updated": seconds,
     "store": "where the segments are, if not here", "workspace": "the tree"}
"""

from __future__ import annotations

import json
import logging
import os
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flashgrep.system.atomic import open_own, replace_file

log = logging.getLogger(__name__)

FORMAT: Final = 3
"""2: sequences that RE2 would take for characters are hidden in the packs (`search.decode`).
3: segments have ids of contents, and the files' status is in rosters."""
MANIFEST: Final = "manifest"
TAG_CHARS: Final = 16
"""The name of a segment begins with the tag of the tree that wrote it."""
_SEGMENT: Final = re.compile(r"[0-9a-f]{32}\.seg")
_ROSTER: Final = re.compile(r"([0-9a-f]{32}\.[0-9a-f]{8}\.roster)?")


@dataclass(frozen=True)
class Generation:
    """The segments that count, the roster of each, and when they were put together."""

    segments: tuple[str, ...] = ()
    rosters: tuple[str, ...] = ()
    """Empty where nothing is known of the files of a segment."""
    base: int = 0
    updated: float | None = None
    store: str = ""
    """The directory of the segments; empty where they are beside the manifest."""
    workspace: str = ""


def read_generation(directory: Path) -> Generation:
    """The generation in force; an empty one if none can be trusted. `OSError` if that cannot be
    determined.
    """
    try:
        with open_own(directory / MANIFEST) as file:
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return Generation()
    body, _, checksum = text.partition(b"\n")
    if checksum.strip() != b"%08x" % zlib.crc32(body):
        log.warning("the index's manifest is damaged; building anew")
        return Generation()
    try:
        return _read(json.loads(body))
    except (ValueError, KeyError, TypeError, RecursionError):
        log.warning("the index's manifest is not understood; building anew")
        return Generation()


def write_generation(directory: Path, generation: Generation) -> None:
    """Put a generation in force."""
    pairs = list(zip(generation.segments, generation.rosters, strict=True))
    data = {
        "format": FORMAT,
        "base": generation.base,
        "segments": pairs,
        "updated": generation.updated,
        "store": generation.store,
        "workspace": generation.workspace,
    }
    body = json.dumps(data).encode()
    text = body + b"\n%08x\n" % zlib.crc32(body)
    replace_file(directory / MANIFEST, [text], directory / f"{MANIFEST}.new")


def _read(data: Any) -> Generation:
    """A generation out of a manifest; ValueError and the like where it is not one of ours."""
    if data["format"] != FORMAT:
        return Generation()
    pairs, base = [(str(name), str(roster)) for name, roster in data["segments"]], int(data["base"])
    if not all(_SEGMENT.fullmatch(name) and _ROSTER.fullmatch(roster) for name, roster in pairs):
        raise ValueError("names out of range")
    if not 0 <= base <= len(pairs):
        raise ValueError("base out of range")
    store, workspace = str(data["store"]), str(data["workspace"])
    if store and not os.path.isabs(store):
        raise ValueError("a store that is nowhere")
    return Generation(
        segments=tuple(name for name, _ in pairs),
        rosters=tuple(roster for _, roster in pairs),
        base=base,
        updated=float(data["updated"]),
        store=store,
        workspace=workspace,
    )
