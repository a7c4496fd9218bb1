"""read_code and get_slice: exact lines of a file, as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flashgrep import limits
from flashgrep.errors import InvalidParams, NotFound, TooLarge
from flashgrep.limits import size_text
from flashgrep.tools.dispatch.call import (
    Answer,
    Call,
    json_answer,
    json_room,
    json_text,
)
from flashgrep.tools.dispatch.spec import Arguments, Parameter, ToolSpec, file_path_row
from flashgrep.tools.format.numbered import LineStream
from flashgrep.tools.format.source import Source
from flashgrep.tools.mounts.files import Files
from flashgrep.workspace import text
from flashgrep.workspace.scope import ResolvedPath

if TYPE_CHECKING:
    from flashgrep.tools.verbs.get_symbol import Definition


CONTEXT_LINES = 20


# ── slices ───────────────────────────────────────────────────────────────────────────────────────
# A part of a file as whole lines: where it ends, and why.
#
# Lines are numbered from 1; a window is inclusive and its end may be past the end of the file. The
# whole file is read whatever the window is: the answer says how many lines there are, and a hash
# of all bytes is what a later write can depend on.


@dataclass(frozen=True)
class Window:
    """The requested lines; `last` None is the end of the file."""

    first: int = 1
    last: int | None = None
    is_given: bool = True
    """Whether the caller named the first line: in an empty file there is none to name."""

    def __post_init__(self) -> None:
        if self.last is not None and self.first > self.last:
            raise InvalidParams(
                f"start_line {self.first} is after end_line {self.last}; "
                "lines are counted from 1 and both ends belong to the range"
            )


@dataclass(frozen=True)
class Slice:
    """The part of a file that is returned."""

    first: int
    lines: list[str]
    total: int
    is_cut: bool
    """Whether a bound ended it before the window did."""
    file_hash: str

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @property
    def content(self) -> str:
        return "\n".join(self.lines)

    @property
    def following(self) -> int | None:
        """The line to continue with, if some of the window is missing."""
        return self.last + 1 if self.is_cut else None


class SliceBudget:
    """What a slice may hold: the caller's own bounds, and the answer's budget as JSON.

    A caller's bound never excludes the first line: a slice of no lines could not be continued. The
    budget can, with a refusal that names it.
    """

    def __init__(
        self,
        call: Call,
        lines: int | None = None,
        size: int | None = None,
        tokens: int | None = None,
        overhead: int = 0,
    ) -> None:
        chars = None if tokens is None else tokens * limits.TOKEN_CHARS
        self._bounds = [math.inf if bound is None else bound for bound in (lines, size, chars)]
        self._budget = json_room(call.output_chars, overhead)

    def take(self, line: str, is_first: bool, number: int) -> bool:
        """Take a line if it fits."""
        joint = 0 if is_first else 1
        if self._budget is not None:
            cost = len(json_text(line)) - 2 + 2 * joint
            if cost > self._budget:
                if is_first:
                    raise _too_long(number, line)
                return False
            self._budget -= cost
        costs = (1, len(line.encode("utf-8")) + joint, len(line) + joint)
        self._bounds = [left - cost for left, cost in zip(self._bounds, costs, strict=True)]
        return is_first or min(self._bounds) >= 0


def _too_long(number: int, line: str) -> TooLarge:
    return TooLarge(
        f"Line {number} alone has {len(line):,} characters, more than one answer may hold "
        f"(--max-output-chars). Read it in parts with read (offset {number} and column)."
    )


def read_slice(call: Call, place: ResolvedPath, window: Window, room: SliceBudget) -> Slice:
    """Read the lines of a window; the caller has read the file then."""
    with Files(call).read(place) as source:
        _require_text(source)
        lines, total, is_cut = _collected(source.text_chunks(), window, room)
        if not lines and (total or window.is_given):
            raise InvalidParams(
                f"start_line {window.first} is past the end of {place.shown}, which has "
                f"{total:,} line{'' if total == 1 else 's'}"
            )
        source.was_shown()
        return Slice(
            first=window.first, lines=lines, total=total, is_cut=is_cut, file_hash=source.memory()
        )


def _require_text(source: Source) -> None:
    if not text.is_text(source.head):
        raise InvalidParams(
            f"{source.place.shown} is a binary file ({size_text(source.size)}) and has no lines"
        )
    source.require_size(source.place.shown)


def _collected(
    chunks: Iterable[str], window: Window, room: SliceBudget
) -> tuple[list[str], int, bool]:
    stream = LineStream(chunks, window.first)
    taken: list[str] = []
    is_cut = False
    for line in stream:
        if not room.take(line.text, not taken, line.number):
            is_cut = True
            break
        taken.append(line.text)
        if line.number == window.last:
            break
    return taken, stream.total, is_cut


# ── read code ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class CodeRange:
    """What to read, and what else to say about it."""

    place: ResolvedPath
    window: Window
    extra: dict[str, Any] = field(default_factory=dict)


def read_code(call: Call, arguments: Arguments) -> Answer:
    """Read a window of a file, or the surroundings of a definition."""
    is_symbol = "symbol_name" in arguments.given
    target = (_by_symbol if is_symbol else _by_path)(call, arguments)
    shown = target.place.shown
    part = read_slice(call, target.place, target.window, _room(call, arguments, shown, target))
    return json_answer(
        {
            "file_path": shown,
            "start_line": part.first,
            "end_line": part.last,
            "content": part.content,
            "truncated": part.is_cut,
            "continuation_start_line": part.following,
            "file_hash": part.file_hash,
            "total_lines": part.total,
            **target.extra,
        }
    )


def _room(call: Call, arguments: Arguments, shown: str, target: CodeRange) -> SliceBudget:
    lines, size, tokens = (arguments.get(f"max_{what}") for what in ("lines", "bytes", "tokens"))
    return SliceBudget(
        call, lines, size, tokens, len(json_text(shown)) + len(json_text(target.extra))
    )


def _by_path(call: Call, arguments: Arguments) -> CodeRange:
    if "file_path" not in arguments.given:
        raise InvalidParams("read_code needs the parameter file_path or path, or symbol_name")
    if "context_lines" in arguments.given:
        raise InvalidParams("context_lines needs symbol_name: without it, give start_line")
    window = Window(
        arguments.get("start_line") or 1,
        arguments.get("end_line"),
        is_given="start_line" in arguments.given,
    )
    return CodeRange(call.services.scope.place(arguments.text("file_path")), window)


# ── by symbol ───────────────────────────────────────────────────────────────────────────────────


def _by_symbol(call: Call, arguments: Arguments) -> CodeRange:
    for name in ("start_line", "end_line"):
        if name in arguments.given:
            raise InvalidParams(f"{name} and symbol_name exclude each other; give one of them")
    symbol = arguments.text("symbol_name")
    if not symbol:
        raise InvalidParams("symbol_name must not be empty")
    from flashgrep.tools.verbs.get_symbol import definitions_of

    found = _in_file(call, definitions_of(call, symbol), arguments.get("file_path"))
    if not found:
        raise NotFound(
            f"No definition of {symbol!r} was found. get_symbol lists every line that names it; "
            "grep finds any text."
        )
    first, *others = found
    context: int = arguments.get("context_lines")
    window = Window(max(1, first.line - context), first.line + context)
    extra: dict[str, Any] = {"symbol_name": symbol, "definition_line": first.line}
    if others:
        few = others[: limits.LISTED_LINES]
        extra["other_definitions"] = [{"file_path": o.file_path, "line": o.line} for o in few]
    return CodeRange(call.services.scope.place(first.file_path), window, extra)


def _in_file(
    call: Call, definitions: Sequence[Definition], file_path: str | None
) -> list[Definition]:
    if file_path is None:
        return list(definitions)
    scope = call.services.scope
    wanted = scope.place(file_path).path
    return [found for found in definitions if scope.place(found.file_path).path == wanted]


READ_CODE = ToolSpec(
    name="read_code",
    title="Read code",
    description=(
        "Read lines of a file, or with symbol_name the lines around its definition, as JSON: "
        "file_path, start_line, end_line, content, truncated, continuation_start_line, file_hash, "
        "total_lines. Without start_line and end_line it reads the whole file; max_lines, "
        "max_bytes and max_tokens (a token counts as 4 characters) stop it earlier, at a line end, "
        "after at least one line. Pass file_hash to write_code as expected_file_hash."
    ),
    parameters=(
        file_path_row("File, absolute or relative to the working directory", required=False),
        Parameter("start_line", "integer", "First line, 1-based", minimum=1),
        Parameter("end_line", "integer", "Last line, inclusive", minimum=1),
        Parameter("max_lines", "integer", "At most this many lines", minimum=1),
        Parameter("max_bytes", "integer", "At most this many bytes of content", minimum=1),
        Parameter("max_tokens", "integer", "At most this many tokens of 4 characters", minimum=1),
        Parameter("symbol_name", "string", "Read around the definition of this name instead"),
        Parameter(
            "context_lines",
            "integer",
            "With symbol_name: lines before and after the definition's first line",
            default=CONTEXT_LINES,
            minimum=0,
        ),
    ),
    handler=read_code,
    toolset="index",
)


# ── get slice ────────────────────────────────────────────────────────────────────────────────────
# get_slice: exact lines of a file, as JSON.


def get_slice(call: Call, arguments: Arguments) -> Answer:
    """Give the lines from start_line to end_line."""
    window = Window(arguments.get("start_line"), arguments.get("end_line"))
    place = call.services.scope.place(arguments.text("file_path"))
    room = SliceBudget(call, overhead=len(json_text(place.shown)))
    part = read_slice(call, place, window, room)
    answer: dict[str, Any] = {
        "file_path": place.shown,
        "start_line": part.first,
        "end_line": part.last,
        "content": part.content,
        "total_lines": part.total,
        "truncated": part.is_cut,
    }
    if part.is_cut:
        answer["continuation_start_line"] = part.following
    return json_answer(answer)


GET_SLICE = ToolSpec(
    name="get_slice",
    title="Get lines of a file",
    description=(
        "Lines start_line to end_line of a file as JSON (1-based, inclusive; the end may be past "
        "the file): file_path, start_line, end_line, content (lines joined by newlines, none at "
        "the end), total_lines, truncated. Cut answers name continuation_start_line. Use it when "
        "you know the lines, e.g. from query, get_symbol or grep."
    ),
    parameters=(
        file_path_row("File, absolute or relative to the working directory"),
        Parameter("start_line", "integer", "First line, 1-based", required=True, minimum=1),
        Parameter("end_line", "integer", "Last line, inclusive", required=True, minimum=1),
    ),
    handler=get_slice,
    toolset="index",
)
