"""read_code and get_slice: exact lines of a file, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flashgrep import limits
from flashgrep.errors import InvalidParams, NotFound
from flashgrep.tools.dispatch.arguments import Arguments
from flashgrep.tools.dispatch.spec import Answer, Parameter, ToolSpec, json_answer, json_text
from flashgrep.tools.dispatch.toolbox import Call
from flashgrep.tools.format.slices import SliceBudget, Window, read_slice
from flashgrep.workspace.scope import ResolvedPath

if TYPE_CHECKING:
    from flashgrep.tools.verbs.get_symbol import Definition


CONTEXT_LINES = 20


@dataclass(frozen=True)
class CodeRange:
    """What is to be read, and what else is said of it."""

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
        "total_lines. Without start_line and end_line it is the whole file; max_lines, max_bytes "
        "and max_tokens (a token is taken as 4 characters) end it earlier, at a line end, after "
        "at least one line. Pass file_hash to write_code as expected_file_hash."
    ),
    parameters=(
        Parameter(
            "file_path",
            "string",
            "File, absolute or relative to the working directory",
            aliases=("path",),
        ),
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


FILE_PATH = Parameter(
    "file_path",
    "string",
    "File, absolute or relative to the working directory",
    aliases=("path",),
    required=True,
)

GET_SLICE = ToolSpec(
    name="get_slice",
    title="Get lines of a file",
    description=(
        "Lines start_line to end_line of a file as JSON (1-based, inclusive; the end may lie past "
        "the file): file_path, start_line, end_line, content (lines joined by newlines, none at "
        "the end), total_lines, truncated. Cut answers name continuation_start_line. Use it when "
        "you know the lines, e.g. from query, get_symbol or grep."
    ),
    parameters=(
        FILE_PATH,
        Parameter("start_line", "integer", "First line, 1-based", required=True, minimum=1),
        Parameter("end_line", "integer", "Last line, inclusive", required=True, minimum=1),
    ),
    handler=get_slice,
    toolset="index",
)
