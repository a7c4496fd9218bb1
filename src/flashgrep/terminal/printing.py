"""The lines of a file that match, and how they are printed: text as in ripgrep, or JSON Lines.

The tools cut long lines and answers; here every line is whole, and a file is read while it is
printed. Lines are as they were searched: UTF-8 whatever the file's encoding, ended by `\\n` alone.
"""

from __future__ import annotations

import base64
import json
import time
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from flashgrep import limits
from flashgrep.search.decode import searchable, windows
from flashgrep.search.excerpts import intervals, newlines
from flashgrep.search.match_count import TextMatcher, line_starts, whole_text
from flashgrep.search.match_lines import LineMatcher
from flashgrep.search.pattern import PatternSpec
from flashgrep.terminal.command import Output

Span = tuple[int, int]


class Hit(NamedTuple):
    """A line to show, or all lines of a match that spans several."""

    number: int
    """Of its first line, from 1."""
    offset: int
    """Of its first byte in the text that was searched."""
    text: bytes
    """Without the last newline."""
    is_match: bool
    spans: tuple[Span, ...] | None = None
    """The matches in it, empty ones too; None where they have not been looked for."""


class Looking:
    """One pattern and how much around it to show; `most` matching lines per file, 0 = all."""

    def __init__(self, spec: PatternSpec, before: int, after: int, most: int) -> None:
        self.spec = spec
        self._before, self._after, self._most = before, after, most
        # This process is the command itself: Ctrl-C ends it, whatever it is doing.
        self._lines = LineMatcher(spec, may_take_long=True)
        self._text = TextMatcher(spec, may_take_long=True) if spec.multiline else None
        # One file at a time: fresh memory for each would cost more than reading it.
        self._scratch = bytearray(2 * limits.WINDOW_BYTES)

    def hits(self, fd: int) -> Iterator[Hit]:
        """The lines of an open file, in order."""
        if self._text is not None:
            return self._blocks(whole_text(fd), self._text)
        if self._before or self._after:
            return self._around(self._every_line(fd))
        return self._matching(fd)

    def spans(self, hit: Hit) -> tuple[Span, ...]:
        """The matches in a line that are not empty."""
        return tuple(span for span in self._all_spans(hit, False) if span[1] > span[0])

    def count(self, hit: Hit) -> int:
        """How many matches are in a line, empty ones too."""
        return sum(1 for _ in self._all_spans(hit, True))

    def _all_spans(self, hit: Hit, with_empty: bool) -> Iterable[Span]:
        if hit.spans is not None or not hit.is_match:
            return hit.spans or ()
        text = searchable(hit.text, 0, len(hit.text))
        return self._lines.spans_in_line(text, 0, len(text), with_empty)

    def _matching(self, fd: int) -> Iterator[Hit]:
        number, offset, left = 1, 0, self._most or -1
        for buffer, begin, end in windows(fd, self._scratch):
            counted = begin
            for start, stop in self._lines.lines(searchable(buffer, begin, end), begin, end):
                number += newlines(buffer, counted, start)
                counted = start
                yield Hit(
                    number=number,
                    offset=offset + start - begin,
                    text=bytes(buffer[start:stop]),
                    is_match=True,
                )
                left -= 1
                if not left:
                    return
            number += newlines(buffer, counted, end)
            offset += end - begin

    def _every_line(self, fd: int) -> Iterator[Hit]:
        number, offset = 1, 0
        for buffer, begin, end in windows(fd, self._scratch):
            matching = self._lines.lines(searchable(buffer, begin, end), begin, end)
            following = next(matching, None)
            start = begin
            while start < end:
                stop = buffer.find(b"\n", start, end)
                is_match = following is not None and following[0] == start
                yield Hit(
                    number=number,
                    offset=offset + start - begin,
                    text=bytes(buffer[start:stop]),
                    is_match=is_match,
                )
                if is_match:
                    following = next(matching, None)
                number, start = number + 1, stop + 1
            offset += end - begin

    def _around(self, lines: Iterator[Hit]) -> Iterator[Hit]:
        waiting: deque[Hit] = deque(maxlen=self._before)
        left, following = self._most or -1, 0
        for hit in lines:
            if hit.is_match and left:
                yield from waiting
                waiting.clear()
                yield hit
                left, following = left - 1, self._after
            elif following:
                following -= 1
                yield hit  # after the last one wanted, a match in its context is still shown as one
            elif not left:
                return
            else:
                waiting.append(hit)

    def _blocks(self, text: bytes, matcher: TextMatcher) -> Iterator[Hit]:
        starts = line_starts(text)
        blocks = _joined(matcher.spans(text, len(text)), starts)
        if self._most:
            blocks = blocks[: self._most]
        first = {top: (bottom, spans) for top, bottom, spans in blocks}
        reached = [line for top, bottom, _ in blocks for line in range(top, bottom + 1)]
        for low, high in intervals(reached, self._before, self._after):
            line = low
            while line <= min(high, len(starts) - 1):
                bottom, spans = first.get(line, (line, None))
                yield _block(text, starts, line, bottom, spans)
                line = bottom + 1


Block = tuple[int, int, list[Span]]


def _joined(spans: Iterator[Span], starts: list[int]) -> list[Block]:
    """Matches by the lines they span; those that share a line are one block."""
    blocks: list[Block] = []
    for first, last in spans:
        top = bisect_right(starts, first) - 1
        bottom = bisect_right(starts, max(first, last - 1)) - 1
        if blocks and top <= blocks[-1][1]:
            begun, end, held = blocks[-1]
            held.append((first, last))
            blocks[-1] = (begun, max(end, bottom), held)
        else:
            blocks.append((top, bottom, [(first, last)]))
    return blocks


def _block(text: bytes, starts: list[int], top: int, bottom: int, spans: Any) -> Hit:
    start = starts[top]
    stop = starts[bottom + 1] - 1 if bottom + 1 < len(starts) else len(text)
    stop -= text.endswith(b"\n", start, stop)
    if spans is None:
        return Hit(number=top + 1, offset=start, text=text[start:stop], is_match=False)
    inside = tuple((a - start, b - start) for a, b in spans)
    return Hit(number=top + 1, offset=start, text=text[start:stop], is_match=True, spans=inside)


# ── lines of text ─────────────────────────────────────────────────────────────────────────────────


_RESET: Final = b"\x1b[0m"
PATH, NUMBER, MATCH = b"\x1b[35m", b"\x1b[32m", b"\x1b[1m\x1b[31m"


def painted(text: bytes, color: bytes) -> bytes:
    """Text in a colour, as ripgrep wraps it."""
    return _RESET + color + text + _RESET


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
    """A NUL after each path instead of the usual separator."""


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
        """Print what separates files, and parts of one."""
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
    """The parts of spans on one line, relative to it."""
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
# Each line is an object with `type` and `data`, the shapes as `rg --json` writes them:
#
#     begin          path
#     match          path, lines, line_number, absolute_offset, submatches [match, start, end]
#     context        the same, without submatches
#     end            path, binary_offset (always null: binary files are not searched), stats
#     summary        elapsed_total, stats
#
# Text that is not UTF-8 is `{"bytes": base64}`. `bytes_searched` counts the files that matched,
# since an index does not read the others. Offsets count the text as it was searched (UTF-8, `\n`
# line ends): in a file with other line ends or encodings they are not the file's own.


_COUNTED = (
    "searches",
    "searches_with_match",
    "bytes_searched",
    "bytes_printed",
    "matched_lines",
    "matches",
)


class JsonPrinter:
    """Objects, one per line."""

    def __init__(self, output: Output, looking: Looking) -> None:
        self._output = output
        self._looking = looking
        self._started = time.perf_counter()
        self._all: Counter[str] = Counter()

    def show(self, label: bytes, hits: Iterator[Hit], size: int) -> int:
        path = _text(label)
        started, before = time.perf_counter(), self._output.written
        stats = Counter(searches=1, bytes_searched=size)
        for hit in hits:
            if not stats["searches_with_match"]:
                self._message("begin", {"path": path})
                stats["searches_with_match"] = 1
            self._hit(path, hit, stats)
        if stats["searches_with_match"]:
            stats["bytes_printed"] = self._output.written - before
            end = {"path": path, "binary_offset": None, "stats": _stats(stats, started)}
            self._message("end", end)
            self._output.result_ends()
        self._all.update(stats)
        return stats["matched_lines"]

    def end(self) -> None:
        total = _elapsed(self._started)
        stats = _stats(self._all, self._started)
        self._message("summary", {"elapsed_total": total, "stats": stats})
        self._output.flush()

    def _hit(self, path: dict[str, str], hit: Hit, stats: Counter[str]) -> None:
        spans = self._looking.spans(hit)
        # Where the file ends too, the line has no newline.
        is_last = hit.offset + len(hit.text) == stats["bytes_searched"]
        lines = hit.text if is_last else hit.text + b"\n"
        if hit.is_match:
            stats["matched_lines"] += 1 + hit.text.count(b"\n")
            stats["matches"] += len(spans)
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


def _stats(counts: Counter[str], started: float) -> dict[str, Any]:
    return {"elapsed": _elapsed(started), **{name: counts[name] for name in _COUNTED}}


def _elapsed(started: float) -> dict[str, Any]:
    seconds = time.perf_counter() - started
    whole = int(seconds)
    return {
        "secs": whole,
        "nanos": int((seconds - whole) * 1e9),
        "human": f"{seconds:.6f}s",
    }
