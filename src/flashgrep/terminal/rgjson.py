"""Matching lines in ripgrep's JSON Lines format: begin, match, context, end; one summary.

Each line is an object with `type` and `data`, the shapes as `rg --json` writes them:

    begin          path
    match          path, lines, line_number, absolute_offset, submatches [match, start, end]
    context        the same, without submatches
    end            path, binary_offset (always null: binary files are not searched), stats
    summary        elapsed_total, stats

Text that is not UTF-8 stands as `{"bytes": base64}`. `bytes_searched` counts the files that
matched, since an index does not read the others. Offsets count the text as it was searched (UTF-8,
`\\n` line ends): in a file with other line ends or encodings they are not the file's own.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flashgrep.terminal.command import Output
from flashgrep.terminal.hits import Hit, Looking


@dataclass
class _Stats:
    started: float
    searches: int = 0
    searches_with_match: int = 0
    bytes_searched: int = 0
    bytes_printed: int = 0
    matched_lines: int = 0
    matches: int = 0

    def add(self, other: _Stats) -> None:
        for name in _COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def shown(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in _COUNTED}
        return {"elapsed": _elapsed(time.perf_counter() - self.started), **counts}


_COUNTED = (
    "searches",
    "searches_with_match",
    "bytes_searched",
    "bytes_printed",
    "matched_lines",
    "matches",
)


class JsonPrinter:
    """Objects, one a line."""

    def __init__(self, output: Output, looking: Looking) -> None:
        self._output = output
        self._looking = looking
        self._all = _Stats(time.perf_counter())

    def show(self, label: bytes, hits: Iterator[Hit], size: int) -> int:
        path = _text(label)
        stats = _Stats(time.perf_counter(), searches=1, bytes_searched=size)
        before = self._output.written
        for hit in hits:
            if not stats.searches_with_match:
                self._message("begin", {"path": path})
                stats.searches_with_match = 1
            self._hit(path, hit, stats)
        if stats.searches_with_match:
            stats.bytes_printed = self._output.written - before
            end = {"path": path, "binary_offset": None, "stats": stats.shown()}
            self._message("end", end)
            self._output.result_ends()
        self._all.add(stats)
        return stats.matched_lines

    def end(self) -> None:
        total = _elapsed(time.perf_counter() - self._all.started)
        self._message("summary", {"elapsed_total": total, "stats": self._all.shown()})
        self._output.flush()

    def _hit(self, path: dict[str, str], hit: Hit, stats: _Stats) -> None:
        spans = self._looking.spans(hit)
        # Where the file ends too, the line has no newline.
        is_last = hit.offset + len(hit.text) == stats.bytes_searched
        lines = hit.text if is_last else hit.text + b"\n"
        if hit.is_match:
            stats.matched_lines += 1 + hit.text.count(b"\n")
            stats.matches += len(spans)
        data = {
            "path": path,
            "lines": _text(lines),
            "line_number": hit.number,
            "absolute_offset": hit.offset,
            "submatches": [
                {"match": _text(lines[first:last]), "start": first, "end": last}
                for first, last in spans
            ],
        }
        self._message("match" if hit.is_match else "context", data)

    def _message(self, kind: str, data: dict[str, Any]) -> None:
        self._output.line(
            json.dumps({"type": kind, "data": data}, ensure_ascii=False, separators=(",", ":"))
        )


def _text(raw: bytes) -> dict[str, str]:
    try:
        return {"text": raw.decode("utf-8")}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(raw).decode("ascii")}


def _elapsed(seconds: float) -> dict[str, Any]:
    whole = int(seconds)
    return {
        "secs": whole,
        "nanos": int((seconds - whole) * 1e9),
        "human": f"{seconds:.6f}s",
    }
