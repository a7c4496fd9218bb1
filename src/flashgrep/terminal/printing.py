"""Matching lines as ripgrep prints them: prefixes, headings, context, colours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

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
