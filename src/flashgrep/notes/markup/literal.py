"""Where a Markdown text is literal: in code, frontmatter, HTML comments and block mathematics.

A mark that nobody recorded means nothing there (`{++i;}` is C, `{{-- x --}}` is a template), and a
link is not a link. The zones follow CommonMark and Obsidian as far as a note's writer would notice:

    frontmatter   `---` in the first line up to the next line `---`
    fenced code   ``` or ~~~, in lists and quotes too, up to a fence as long, or to the end
    indented code four columns after a blank line, unless a list is open: there it is an item's text
    inline code   a run of backticks up to the next run as long, in the same paragraph
    comments      `<!--` up to `-->`; without an end it is text
    mathematics   `$$` up to `$$`, in the same paragraph

One pass, linear in the text: every construct is looked for once, and skipped text is never
revisited. Patterns that could try a line in several ways are possessive.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple


class Literal(StrEnum):
    """What makes a zone literal."""

    FRONTMATTER = "frontmatter"
    FENCED = "fenced"
    INDENTED = "indented"
    INLINE = "inline"
    COMMENT = "comment"
    MATHS = "maths"


class Zone(NamedTuple):
    """A stretch of text, its delimiters included."""

    start: int
    end: int
    kind: Literal


_FRONTMATTER: Final = re.compile(r"---[ \t]*+\n(?:[^\n]*\n)*?---[ \t]*+(?:\n|\Z)")
_QUOTE: Final = r"(?P<quote>(?:[ ]{0,3}>)*+)"
_ITEM: Final = r"(?P<item>(?:[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++)*+)"
_FENCE: Final = re.compile(_QUOTE + _ITEM + r"(?P<indent>[ \t]*+)(?P<fence>`{3,}|~{3,})")
_CLOSE: Final = re.compile(_QUOTE + r"(?P<indent>[ \t]*+)(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?=\n|\Z)")
_INDENT: Final = re.compile(r"[ \t]*+")
_LIST_ITEM: Final = re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])(?=[ \t\n]|\Z)")
_INLINE: Final = re.compile(r"\\[^\n]|`+|<!--|\$\$|\n")
_RUN: Final = re.compile(r"`+")
_BLOCK: Final = re.compile(
    r"^[ \t]*+(?:$|#{1,6}[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]|>|\||`{3}|~{3}|---|\*\*\*|___)",
    re.MULTILINE,
)
_PLAIN: Final = re.compile(r"(?:[^\s\-*+>#`~\d\\$<][^\n`$<\\]*+(?:\n|\Z)|\n)++")
"""Lines that neither are nor begin anything literal, and no list: most of a note, at once."""
_CODE_COLUMNS: Final = 4


def zones(text: str) -> list[Zone]:
    """The literal zones from left to right, none overlapping."""
    return _LiteralScan(text).zones()


class _LiteralScan:
    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[Zone] = []
        self._in_list = False
        self._may_indent = True
        """After a blank line or code, a line with four columns is code."""
        self._block = 0

    def zones(self) -> list[Zone]:
        at = 0
        if front := _FRONTMATTER.match(self._text):
            at = self._add(0, front.end(), Literal.FRONTMATTER)
        while at < len(self._text):
            at = self._plain_end(at) or self._line(at)
        return self._found

    def _plain_end(self, at: int) -> int:
        """After the plain lines that start here; 0 if there is none."""
        plain = _PLAIN.match(self._text, at)
        if not plain:
            return 0
        lines = plain[0].strip("\n")
        if lines and (self._may_indent or plain[0][0] == "\n" or "\n\n" in lines):
            self._in_list = False
        self._may_indent = plain[0] == "\n" or plain[0].endswith("\n\n")
        return plain.end()

    def _add(self, start: int, end: int, kind: Literal) -> int:
        self._found.append(Zone(start, end, kind))
        return end

    def _line(self, at: int) -> int:
        """Take the line that starts here, and all that its last construct covers."""
        content = _indent_end(self._text, at)
        if content == len(self._text) or self._text[content] == "\n":
            self._may_indent = True
            return content + 1
        fence = _FENCE.match(self._text, at)
        if fence and self._opens(fence):
            return self._add(at, self._fence_end(fence), Literal.FENCED)
        columns = _columns(self._text[at:content])
        if columns >= _CODE_COLUMNS and self._may_indent and not self._in_list:
            return self._add(at, _line_end(self._text, at), Literal.INDENTED)
        self._note_list(at, columns)
        return self._inline(at)

    def _note_list(self, at: int, columns: int) -> None:
        if _LIST_ITEM.match(self._text, at):
            self._in_list = True
        elif columns == 0 and (self._may_indent or self._text[at] == "#"):
            self._in_list = False
        self._may_indent = False

    # ── fenced code ─────────────────────────────────────────────────────────────────────────────

    def _opens(self, fence: re.Match[str]) -> bool:
        """Whether a line of backticks or tildes opens a block rather than being text."""
        within = self._in_list or bool(fence["item"])
        room = _CODE_COLUMNS if fence["quote"] else _CODE_COLUMNS - 1
        if not within and _columns(fence["indent"]) > room:
            return False
        end = _line_end(self._text, fence.end())
        return fence["fence"][0] == "~" or self._text.find("`", fence.end(), end) < 0

    def _fence_end(self, fence: re.Match[str]) -> int:
        """After the closing line; a quote's code ends with the quote."""
        self._in_list = self._in_list or bool(fence["item"])
        self._may_indent = True
        depth = fence["quote"].count(">")
        deepest = _columns(fence["item"] + fence["indent"]) + _CODE_COLUMNS
        at = _line_end(self._text, fence.end())
        while at < len(self._text):
            if depth and _depth(self._text, at) < depth:
                return at
            close = _CLOSE.match(self._text, at)
            is_close = close is not None and close["fence"].startswith(fence["fence"])
            if close and is_close and _columns(close["indent"]) < deepest:
                return _line_end(self._text, close.end())
            at = _line_end(self._text, at)
        return at

    # ── inside a line ───────────────────────────────────────────────────────────────────────────

    def _inline(self, at: int) -> int:
        """Take the content of a line, up to the line's end or that of a zone's last line."""
        while token := _INLINE.search(self._text, at):
            if token[0] == "\n":
                return token.end()
            at = self._construct(token) or token.end()
        return len(self._text)

    def _construct(self, token: re.Match[str]) -> int:
        """Add the zone a token begins, and say where it ends; 0 where it begins none."""
        if token[0][0] == "`":
            end = self._code_end(token.start(), len(token[0]))
            return end and self._add(token.start(), end, Literal.INLINE)
        if token[0] == "<!--":
            end = self._next(self._comment_ends, token.end())
            return end and self._add(token.start(), end + 3, Literal.COMMENT)
        if token[0] == "$$":
            end = self._next(self._dollars, token.end())
            if end and end < self._paragraph_end(token.start()):
                return self._add(token.start(), end + 2, Literal.MATHS)
        return 0

    def _code_end(self, start: int, length: int) -> int:
        close = self._next(self._runs.get(length, []), start + length)
        return close + length if close and close < self._paragraph_end(start) else 0

    @staticmethod
    def _next(places: list[int], at: int) -> int:
        """The first of the sorted places at or after a position; 0 where there is none."""
        index = bisect_right(places, at - 1)
        return places[index] if index < len(places) else 0

    def _paragraph_end(self, at: int) -> int:
        """Where the next block starts; inline code does not reach into it."""
        if self._block <= at:
            found = _BLOCK.search(self._text, at + 1)
            self._block = found.start() if found else len(self._text)
        return self._block

    @cached_property
    def _runs(self) -> dict[int, list[int]]:
        """Where the backtick runs of each length start; few lengths, so a search is short."""
        runs: dict[int, list[int]] = {}
        for run in _RUN.finditer(self._text):
            runs.setdefault(len(run[0]), []).append(run.start())
        return runs

    @cached_property
    def _comment_ends(self) -> list[int]:
        return [end.start() for end in re.finditer("-->", self._text)]

    @cached_property
    def _dollars(self) -> list[int]:
        return [dollars.start() for dollars in re.finditer(r"\$\$", self._text)]


def _line_end(text: str, at: int) -> int:
    """After the line end of the line of a position."""
    return text.find("\n", at) + 1 or len(text)


def _indent_end(text: str, at: int) -> int:
    match = _INDENT.match(text, at)
    return match.end() if match else at


def _columns(indent: str) -> int:
    """How wide white space is shown, with a tab stop every four columns."""
    return len(indent.expandtabs(_CODE_COLUMNS))


_MARKERS: Final = re.compile(_QUOTE)


def _depth(text: str, at: int) -> int:
    match = _MARKERS.match(text, at)
    return match["quote"].count(">") if match else 0
