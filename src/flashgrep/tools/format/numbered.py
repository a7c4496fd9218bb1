"""What `view` and `read` show: windows of numbered lines, images, and what follows the lines.

A document is read no further than its window needs.

A line ends at `\\n`, and one `\\r` before it belongs to the line end; no other character ends a
line. Characters of a line past what may be shown are counted and let go, so a file of one
enormous line costs no more memory than any other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from flashgrep import limits
from flashgrep.errors import InvalidParams
from flashgrep.mount import Document
from flashgrep.tools.dispatch.answer import Answer, Image
from flashgrep.tools.dispatch.budget import Budget
from flashgrep.tools.sizes import size_text
from flashgrep.workspace import text
from flashgrep.workspace.text import OddLines, display

EMPTY = "Warning: the file exists but its contents are empty."


@dataclass(frozen=True)
class Line:
    """A line: its number, what may be shown of it, and how many characters it has."""

    number: int
    text: str
    length: int


class LineStream:
    """The lines of a text from number `first` on; `total` is right once they are exhausted."""

    def __init__(
        self, chunks: Iterable[str], first: int = 1, cap: int | None = None, column: int = 1
    ) -> None:
        self.total = 0
        self._first = first
        self._cap = cap
        self._column = column
        self._chunks = iter(chunks)

    def __iter__(self) -> Iterator[Line]:
        chunks = self._skipped()
        part = _Part(self._column, self._cap)
        for chunk in chunks:
            *complete, rest = chunk.split("\n")
            for piece in complete:
                part.feed(piece)
                self.total += 1
                yield part.line(self.total, ended=True)
                part = _Part(1, self._cap)
            part.feed(rest)
        if part.length:
            self.total += 1
            yield part.line(self.total, ended=False)

    def _skipped(self) -> Iterator[str]:
        """Pass over the lines before the first wanted one, counting, and give what follows."""
        wanted = self._first - 1
        is_open = False
        for chunk in self._chunks:
            ends = chunk.count("\n")
            if self.total + ends >= wanted:
                rest = chunk.split("\n", wanted - self.total)[-1]
                self.total = wanted
                return itertools.chain((rest,), self._chunks)
            self.total += ends
            is_open = not chunk.endswith("\n")
        self.total += is_open
        return iter(())


class _Part:
    """A line being collected: `column` characters in, `cap` characters kept, all counted."""

    def __init__(self, column: int, cap: int | None) -> None:
        self.length = 0
        self._skip = column - 1
        self._cap = cap
        self._kept: list[str] = []
        self._kept_length = 0
        self._last = ""

    def feed(self, piece: str) -> None:
        if not piece:
            return
        start = max(0, self._skip - self.length)
        room = len(piece) if self._cap is None else max(0, self._cap - self._kept_length)
        kept = piece[start : start + room] if room else ""
        if kept:
            self._kept.append(kept)
            self._kept_length += len(kept)
        self.length += len(piece)
        self._last = piece[-1]

    def line(self, number: int, ended: bool) -> Line:
        text = "".join(self._kept)
        if ended and self._last == "\r":
            if self._kept_length == max(0, self.length - self._skip):
                text = text[:-1]
            self.length -= 1
        return Line(number, text, self.length)


def numbered(number: int, text: str) -> str:
    """A line as `cat -n` prints it."""
    return f"{number:6}\t{display(text)}"


def shown_line(line: Line) -> str:
    """A line of view: numbered, and cut when it is long."""
    if line.length <= limits.SHOWN_LINE_CHARS:
        return numbered(line.number, line.text)
    cut = line.text[: limits.SHOWN_LINE_CHARS]
    return numbered(line.number, f"{cut}... [truncated, {line.length} chars total]")


def view_lines(chunks: Iterable[str], view_range: list[int] | None, budget: Budget) -> str:
    """The lines of a file, or those of a range, as `view` answers them."""
    first, last = view_range or (1, None)
    stream = LineStream(chunks, first, limits.SHOWN_LINE_CHARS)
    lines = iter(stream)
    shown = 0
    odd = OddLines()
    for line in lines:
        if not budget.take(shown_line(line)):
            cut = _cut_view(first, shown, _counted(stream, lines), last)
            return budget.text(_footer(odd, cut))
        odd.see(line.number, line.text)
        shown = line.number
        if shown == last:
            break
    if not shown and view_range:
        raise InvalidParams(
            f"view_range start {first} exceeds total lines: the file has {stream.total}"
        )
    return budget.text(odd.note()) if shown else EMPTY


def _footer(odd: OddLines, cut: str) -> str:
    return "\n".join(filter(None, [odd.note(), cut]))


def _cut_view(first: int, shown: int, total: int, last: int | None) -> str:
    end = min(last or total, total)
    return (
        f"[PARTIAL view: lines {first}-{shown} of {total}. "
        f"Continue with view_range=[{shown + 1}, {end}]]"
    )


def _counted(stream: LineStream, lines: Iterator[Line]) -> int:
    for _ in lines:
        pass
    return stream.total


def read_lines(
    chunks: Iterable[str], offset: int, limit: int | None, column: int, budget: Budget
) -> str:
    """The lines from `offset` on as `read` answers them: whole, or continued by column."""
    stream = LineStream(chunks, offset, budget.room, column)
    lines = iter(stream)
    last = offset - 1 + (limit or limits.READ_LINES)
    shown = offset - 1
    odd = OddLines()
    for line in lines:
        start = column if line.number == offset else 1
        if start > max(1, line.length):
            return (
                f"Warning: column {start} is past the end of line {offset} ({line.length} chars)."
            )
        row = numbered(line.number, line.text)
        if start - 1 + len(line.text) < line.length or not budget.fits(len(row)):
            return _cut_read(stream, lines, line, start, shown, offset, budget, odd)
        budget.take(row)
        odd.see(line.number, line.text)
        shown = line.number
        if shown == last:
            break
    if shown < offset:
        return EMPTY if not stream.total else _past(offset, stream.total)
    if limit is None and shown == last and _counted(stream, lines) > last:
        return budget.text(_footer(odd, _partial(offset, shown, stream.total)))
    return budget.text(odd.note())


def _cut_read(
    stream: LineStream,
    lines: Iterator[Line],
    line: Line,
    start: int,
    shown: int,
    offset: int,
    budget: Budget,
    odd: OddLines,
) -> str:
    """End before a line that does not fit, or, when it is the first one, inside it."""
    if budget.lines:
        return budget.text(_footer(odd, _partial(offset, shown, _counted(stream, lines))))
    prefix = len(numbered(line.number, ""))
    text = line.text[: max(1, (budget.room or 0) - prefix)]
    budget.take(numbered(line.number, text))
    odd.see(line.number, text)
    following = start + len(text)
    cut = (
        f"[PARTIAL view: line {line.number}, characters {start}-{following - 1} of {line.length}. "
        f"Continue with offset={line.number}, column={following}]"
    )
    return budget.text(_footer(odd, cut))


def _partial(offset: int, shown: int, total: int) -> str:
    return f"[PARTIAL view: lines {offset}-{shown} of {total}. Continue with offset={shown + 1}]"


def _past(offset: int, total: int) -> str:
    return f"Warning: offset {offset} is past the end; the file has {total} lines."


# ── documents ───────────────────────────────────────────────────────────────────────────────────


def image_of(document: Document, wants_lines: bool) -> Answer | None:
    """The document as an image, if it is one.

    An SVG is an image by its name and text by its bytes: whoever asks for lines gets lines.
    """
    kind = text.image_type(document.head, document.name)
    if kind is None or (wants_lines and text.is_text(document.head)):
        return None
    document.require_size(f"The image {document.shown}")
    return Answer("", Image(document.whole(), kind))


def binary_of(document: Document) -> Answer | None:
    """The message that stands for binary content, if it is that."""
    if not document.head or text.is_text(document.head):
        return None
    return Answer(f"Binary file ({size_text(document.size)})")


def with_trailer(
    document: Document, first: int, chars: int, lines: Callable[[Budget], str]
) -> Answer:
    """Lines from number `first` on, then what the document says after them, in one budget."""
    trailer = document.trailer(first, (chars or 2**62) // 2)
    if not trailer:
        return Answer(lines(Budget(chars)))
    text = lines(Budget(max(chars - len(trailer) - 2, 1) if chars else 0))
    return Answer(f"{text}\n\n{trailer}")
