"""Matching lines as ripgrep prints them: text with prefixes and colours, or JSON Lines.

Matching lines in ripgrep's JSON Lines format: begin, match, context, end; one summary.

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
from typing import Any, Final, Protocol

from flashgrep.terminal.command import Output
from flashgrep.terminal.hits import Hit, Looking, Span

_RESET: Final = b"\x1b[0m"
PATH, NUMBER, MATCH = b"\x1b[35m", b"\x1b[32m", b"\x1b[1m\x1b[31m"


def painted(text: bytes, color: bytes) -> bytes:
    """Text in a colour, as ripgrep wraps it."""
    return _RESET + color + text + _RESET


class Printer(Protocol):
    """Shows the hits of one file after the other."""

    def show(self, label: bytes, hits: Iterator[Hit], size: int) -> int:
        """Show a file's hits; how many of them match."""
        ...

    def end(self) -> None:
        """Show what stands behind the last file."""
        ...


@dataclass(frozen=True)
class Style:
    """How lines look."""

    color: bool = False
    heading: bool = False
    filename: bool = True
    numbers: bool = False
    column: bool = False
    only_matching: bool = False
    each_match: bool = False
    """A line for each match in it, as --vimgrep has it."""
    context: bool = False
    """Whether lines around matches were asked for: gaps are marked then."""
    null: bool = False
    """A NUL behind each path instead of what usually stands there."""


class LinePrinter:
    """Lines of text."""

    def __init__(self, output: Output, looking: Looking, style: Style) -> None:
        self._output = output
        self._looking = looking
        self._style = style
        self._is_first = True
        self._needs_spans = style.color or style.column or style.only_matching or style.each_match

    def show(self, label: bytes, hits: Iterator[Hit], size: int) -> int:
        matches, previous = 0, 0
        for hit in hits:
            self._separate(label, hit, previous)
            matches += hit.is_match
            self._hit(label, hit)
            previous = hit.number + hit.text.count(b"\n")
        self._output.result_ends()
        return matches

    def end(self) -> None:
        self._output.flush()

    def _separate(self, label: bytes, hit: Hit, previous: int) -> None:
        """What stands between files, and between parts of one."""
        style = self._style
        if not previous:
            gap = b"" if self._is_first else b"\n" if style.heading else b"--\n"
            if gap and (style.heading or style.context):
                self._output.write(gap)
            if style.heading and style.filename:
                self._output.write(self._path(label) + (b"\0" if style.null else b"\n"))
            self._is_first = False
        elif style.context and hit.number > previous + 1:
            self._output.write(b"--\n")

    def _path(self, label: bytes) -> bytes:
        shown = self._output.path(label)
        return painted(shown, PATH) if self._style.color else shown

    def _hit(self, label: bytes, hit: Hit) -> None:
        spans = self._looking.spans(hit) if self._needs_spans else ()
        style, start = self._style, 0
        for number, line in enumerate(hit.text.split(b"\n"), hit.number):
            inside = tuple(_clipped(spans, start, start + len(line)))
            if style.only_matching and hit.is_match:
                for first, last in inside:
                    self._line(label, hit, number, first, line[first:last], ((0, last - first),))
            elif style.each_match and hit.is_match:
                for span in inside or ((0, 0),):
                    self._line(label, hit, number, span[0], line, (span,))
            else:
                first = inside[0][0] if inside else 0
                self._line(label, hit, number, first, line, inside)
            start += len(line) + 1

    def _line(
        self, label: bytes, hit: Hit, number: int, column: int, line: bytes, spans: tuple[Span, ...]
    ) -> None:
        style, mark = self._style, b":" if hit.is_match else b"-"
        prefix = b""
        if style.filename and not style.heading:
            prefix += self._path(label) + (b"\0" if style.null else mark)
        if style.numbers:
            shown = b"%d" % number
            prefix += (painted(shown, NUMBER) if style.color else shown) + mark
        if style.column and hit.is_match:
            prefix += b"%d:" % (column + 1)
        self._output.write(prefix + (_colored(line, spans) if style.color else line) + b"\n")


def _clipped(spans: tuple[Span, ...], start: int, stop: int) -> Iterator[Span]:
    """The parts of spans that lie on one line, relative to it."""
    for first, last in spans:
        low, high = max(first, start), min(last, stop)
        if low < high:
            yield low - start, high - start


def _colored(line: bytes, spans: tuple[Span, ...]) -> bytes:
    pieces, at = [], 0
    for first, last in spans:
        if first < last:
            pieces += [line[at:first], painted(line[first:last], MATCH)]
            at = last
    return b"".join(pieces) + line[at:]


# ── JSON Lines ───────────────────────────────────────────────────────────────────────────────────


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
