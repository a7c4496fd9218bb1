"""What `view` and `read` show: numbered lines, images, directories, the lines around a change.

A document is read no further than its window needs.

A line ends at `\\n`, and one `\\r` before it belongs to the line end; no other character ends a
line. Characters of a line past what may be shown are counted and let go, so a file of one
enormous line costs no more memory than any other.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from flashgrep import limits
from flashgrep.errors import AccessDenied, Cancelled, FlashgrepError, InvalidParams, from_os_error
from flashgrep.limits import size_text
from flashgrep.mount import Document
from flashgrep.tools.dispatch.call import Answer, Budget, Image
from flashgrep.workspace import text
from flashgrep.workspace.safe_open import DIRECTORY, open_in
from flashgrep.workspace.scope import ResolvedPath, Scope, shown_name
from flashgrep.workspace.text import OddLines, display

EMPTY_FILE = "Warning: the file exists but its contents are empty."


@dataclass(frozen=True)
class ShownLine:
    """A line: its number, the part that may be shown, and how many characters it has."""

    number: int
    text: str
    length: int


class LineStream:
    """The lines of a text from number `first` on."""

    def __init__(
        self, chunks: Iterable[str], first: int = 1, cap: int | None = None, column: int = 1
    ) -> None:
        self._first = first
        self._cap = cap
        self._column = column
        self._ends = 0
        self._is_open = False
        self._chunks = self._counted(chunks)

    def _counted(self, chunks: Iterable[str]) -> Iterator[str]:
        for chunk in filter(None, chunks):
            self._ends += chunk.count("\n")
            self._is_open = not chunk.endswith("\n")
            yield chunk

    @property
    def total(self) -> int:
        """How many lines the text has; those that were not read are counted, not looked at."""
        for _ in self._chunks:
            pass
        return self._ends + self._is_open

    def __iter__(self) -> Iterator[ShownLine]:
        chunks, number = self._skipped(), self._first - 1
        part = _Part(self._column, self._cap)
        for chunk in chunks:
            *complete, rest = chunk.split("\n")
            for piece in complete:
                part.feed(piece)
                number += 1
                yield part.line(number, ended=True)
                part = _Part(1, self._cap)
            part.feed(rest)
        if part.length:
            yield part.line(number + 1, ended=False)

    def _skipped(self) -> Iterator[str]:
        """Pass over the lines before the first wanted one, counting, and give what follows."""
        wanted, before = self._first - 1, 0
        for chunk in self._chunks:
            if self._ends >= wanted:
                rest = chunk.split("\n", wanted - before)[-1]
                return itertools.chain((rest,), self._chunks)
            before = self._ends
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

    def line(self, number: int, ended: bool) -> ShownLine:
        text = "".join(self._kept)
        if ended and self._last == "\r":
            if self._kept_length == max(0, self.length - self._skip):
                text = text[:-1]
            self.length -= 1
        return ShownLine(number, text, self.length)


def numbered(number: int, text: str) -> str:
    """A line as `cat -n` prints it."""
    return f"{number:6}\t{display(text)}"


def shown_line(line: ShownLine) -> str:
    """A line of view: numbered, and cut when it is long."""
    if line.length <= limits.SHOWN_LINE_CHARS:
        return numbered(line.number, line.text)
    cut = line.text[: limits.SHOWN_LINE_CHARS]
    return numbered(line.number, f"{cut}... [truncated, {line.length} chars total]")


def view_lines(chunks: Iterable[str], view_range: list[int] | None, budget: Budget) -> str:
    """The lines of a file, or those of a range, as `view` answers them."""
    first, last = view_range or (1, None)
    stream = LineStream(chunks, first, limits.SHOWN_LINE_CHARS)
    shown = 0
    odd = OddLines()
    for line in stream:
        if not budget.take(shown_line(line)):
            cut = _cut_view(first, shown, stream.total, last)
            return budget.text(_footer(odd, cut))
        odd.see(line.number, line.text)
        shown = line.number
        if shown == last:
            break
    if not shown and view_range:
        raise InvalidParams(
            f"view_range start {first} exceeds total lines: the file has {stream.total}"
        )
    return budget.text(odd.note()) if shown else EMPTY_FILE


def _footer(odd: OddLines, cut: str) -> str:
    return "\n".join(filter(None, [odd.note(), cut]))


def _cut_view(first: int, shown: int, total: int, last: int | None) -> str:
    end = min(last or total, total)
    return (
        f"[PARTIAL view: lines {first}-{shown} of {total}. "
        f"Continue with view_range=[{shown + 1}, {end}]]"
    )


def read_lines(
    chunks: Iterable[str], offset: int, limit: int | None, column: int, budget: Budget
) -> str:
    """The lines from `offset` on as `read` answers them: whole, or continued by column."""
    room = budget.room
    stream = LineStream(chunks, offset, None if room is None else max(1, room), column)
    last = offset - 1 + (limit or limits.READ_LINES)
    shown = offset - 1
    odd = OddLines()
    for line in stream:
        start = column if line.number == offset else 1
        if start > max(1, line.length):
            return (
                f"Warning: column {start} is past the end of line {offset} ({line.length} chars)."
            )
        row = numbered(line.number, line.text)
        if start - 1 + len(line.text) < line.length or not budget.fits(len(row)):
            if not budget.lines:
                return _cut_line(stream, line, start, last, budget, odd)
            return budget.text(_footer(odd, _partial(offset, shown, stream.total)))
        budget.take(row)
        odd.see(line.number, line.text)
        shown = line.number
        if shown == last:
            break
    if shown < offset:
        past = f"Warning: offset {offset} is past the end; the file has {stream.total} lines."
        return past if stream.total else EMPTY_FILE
    if limit is None and shown == last and stream.total > last:
        return budget.text(_footer(odd, _partial(offset, shown, stream.total)))
    return budget.text(odd.note())


def _cut_line(
    stream: LineStream, line: ShownLine, start: int, last: int, budget: Budget, odd: OddLines
) -> str:
    """End inside a first line that does not fit, after at least one character of it.

    What is left of it may be one character, or none: then it goes on with the next line.
    """
    prefix = len(numbered(line.number, ""))
    text = line.text[: max(1, (budget.room or 0) - prefix)]
    budget.take(numbered(line.number, text))
    odd.see(line.number, text)
    following = start + len(text)
    if following > line.length:
        is_end = line.number >= min(last, stream.total)
        cut = "" if is_end else _partial(line.number, line.number, stream.total)
        return budget.text(_footer(odd, cut))
    cut = (
        f"[PARTIAL view: line {line.number}, characters {start}-{following - 1} of {line.length}. "
        f"Continue with offset={line.number}, column={following}]"
    )
    return budget.text(_footer(odd, cut))


def _partial(offset: int, shown: int, total: int) -> str:
    return f"[PARTIAL view: lines {offset}-{shown} of {total}. Continue with offset={shown + 1}]"


# ── documents ───────────────────────────────────────────────────────────────────────────────────


def image_of(document: Document, wants_lines: bool) -> Answer | None:
    """The document as an image, if it is one.

    An SVG is an image by its name and text by its bytes: a caller that asks for lines gets lines.
    """
    kind = text.image_type(document.head, document.name)
    if kind is None or (wants_lines and text.is_text(document.head)):
        return None
    document.require_size(f"The image {document.shown}")
    return Answer("", Image(document.whole(), kind))


def binary_of(document: Document) -> Answer | None:
    """The message in place of binary content, if it is that."""
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


# ── listing ──────────────────────────────────────────────────────────────────────────────────────
# A directory as `view` shows it: two levels, one path a line, directories with a `/`.
#
# Only `.git` and `node_modules` are left out, and what is denied: a link is judged by where it
# leads. Subdirectories are opened from their parent's descriptor through no link, so a tree that
# changes under the listing cannot lead it elsewhere.


LEFT_OUT = (b".git", b"node_modules")
EMPTY_DIRECTORY = "(empty directory)"


@dataclass
class DirectoryView:
    """A listing in progress: what is shown, how much there is, what could not be read."""

    scope: Scope
    budget: Budget
    is_cancelled: Callable[[], bool]
    shown: int = 0
    total: int = 0
    unreadable: list[str] = field(default_factory=list)
    is_full: bool = False

    def add(self, row: str) -> None:
        """Count a row, and show it while there is room."""
        self.total += 1
        if not self.is_full and self.budget.take(row):
            self.shown += 1
        else:
            self.is_full = True

    def list(self, fd: int, path: bytes, prefix: bytes, levels: int) -> None:
        """Add the entries of an open directory, and those below it down to some levels."""
        with os.scandir(fd) as entries:
            found = sorted((os.fsencode(entry.name), entry) for entry in entries)
        for name, entry in found:
            if self.is_cancelled():
                raise Cancelled("the listing was cancelled")
            if self.scope.permits(os.path.join(path, name)):
                self._entry(fd, os.path.join(path, name), prefix + name, entry, levels)

    def _entry(
        self, fd: int, path: bytes, row: bytes, entry: os.DirEntry[str], levels: int
    ) -> None:
        if entry.is_symlink():
            self._link(fd, path, row)
        elif entry.is_dir(follow_symlinks=False):
            if os.path.basename(path) in LEFT_OUT:  # a worktree's .git file is a file like others
                return
            self.add(shown_name(row) + "/")
            if levels > 1:
                self._below(fd, path, row + b"/", levels - 1)
        else:
            self.add(shown_name(row))

    def _link(self, fd: int, path: bytes, row: bytes) -> None:
        """A link with its target, unless it leads where nothing may be seen."""
        try:
            self.scope.follow(path)
        except AccessDenied:
            return
        except FlashgrepError:
            pass  # it leads nowhere, and is shown with that
        try:
            target = os.readlink(os.path.basename(path), dir_fd=fd)
        except OSError:
            return  # it is gone, or not a link any more
        self.add(f"{shown_name(row)} -> {shown_name(os.fsencode(target))}")

    def _below(self, fd: int, path: bytes, prefix: bytes, levels: int) -> None:
        below = -1
        try:
            below = open_in(os.path.basename(path), DIRECTORY, dir_fd=fd)
            self.list(below, path, prefix, levels)
        except OSError as error:
            if below >= 0 or not isinstance(error, FileNotFoundError):  # else it vanished
                self.unreadable.append(shown_name(prefix))
        finally:
            if below >= 0:
                os.close(below)

    def footer(self) -> str:
        """What is missing, and how to see it; empty when nothing is."""
        lines = []
        if self.unreadable:
            lines.append(f"({len(self.unreadable)} not readable: {', '.join(self.unreadable[:3])})")
        if self.is_full:
            lines.append(
                f"[PARTIAL view: {self.shown:,} of {self.total:,} entries. Continue with view of "
                "a subdirectory, or with glob, which pages by offset]"
            )
        return "\n".join(lines)


def list_directory(
    scope: Scope, place: ResolvedPath, budget: Budget, is_cancelled: Callable[[], bool]
) -> str:
    """The entries of a directory and of the directories in it, sorted by name."""
    listing = DirectoryView(scope, budget, is_cancelled)
    fd = scope.open_directory(place)
    try:
        listing.list(fd, place.path, b"", 2)
    except OSError as error:
        raise from_os_error(error, place.shown) from None
    finally:
        os.close(fd)
    footer = listing.footer()
    return budget.text(footer) if listing.total or footer else EMPTY_DIRECTORY


# ── snippet ──────────────────────────────────────────────────────────────────────────────────────
# The part of a file around a change, numbered as view numbers it.


def snippet(text: str, start: int, end: int, budget: Budget) -> str:
    """The lines of `text` from a little before position `start` to a little after `end`."""
    lines = text.removesuffix("\n").split("\n")
    first = max(0, text.count("\n", 0, start) - limits.SNIPPET_CONTEXT)
    last = text.count("\n", 0, end) + 1 + limits.SNIPPET_CONTEXT
    window = lines[first : min(last, first + limits.SNIPPET_LINES)]
    for number, line in enumerate(window, first + 1):
        if not budget.take(_row(number, line)):
            break
    is_cut = first + len(budget.lines) < min(last, len(lines))
    return budget.text("(the snippet ends here; view the file to see the rest)" if is_cut else "")


def _row(number: int, text: str) -> str:
    return shown_line(ShownLine(number, display(text[: limits.SHOWN_LINE_CHARS]), len(text)))
