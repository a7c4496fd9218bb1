"""A tool is a row; what its handler gives back is an answer within a budget.

Listing, argument reading and dispatch come from the row on every transport, so a tool is changed
by touching its one file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from flashgrep import limits
from flashgrep.errors import FlashgrepError

if TYPE_CHECKING:
    from flashgrep.notes.access.roles import Role
    from flashgrep.tools.dispatch.arguments import Arguments
    from flashgrep.tools.dispatch.toolbox import Call


# ── answer ───────────────────────────────────────────────────────────────────────────────────────
# What a tool gives back: text, perhaps an image, perhaps a code that says it failed.


Row = TypeVar("Row")


@dataclass(frozen=True)
class Image:
    """An image for ImageContent: raw bytes and MIME type."""

    data: bytes
    mime_type: str


@dataclass(frozen=True)
class Answer:
    """One tool answer; `code` is None exactly when the call succeeded."""

    text: str
    image: Image | None = None
    code: str | None = None
    structured: Mapping[str, Any] | None = None
    data: Mapping[str, Any] | None = None
    """What a direct method gives as its result; None where the text is all there is."""

    @property
    def failed(self) -> bool:
        return self.code is not None


def refusal(error: FlashgrepError) -> Answer:
    """The answer that tells a failure."""
    return Answer(error.message, code=error.code)


def json_answer(data: Mapping[str, Any]) -> Answer:
    """An answer that is an object: as compact JSON for a tool, as itself for a direct method."""
    return Answer(json_text(data), data=data)


def json_refusal(error: FlashgrepError) -> Answer:
    """The answer that tells a failure of a tool whose answers are JSON."""
    told = {"code": error.code, "message": error.message, **error.details}
    return Answer(json_text({"ok": False, "error": told}), code=error.code)


def json_room(chars: int) -> int | None:
    """How much of a budget the rows of an answer may take; None for any amount."""
    return max(chars - limits.FOOTER_CHARS, chars // 2) if chars else None


def fitting(rows: Iterable[Row], room: int | None) -> list[Row]:
    """As many rows as there is room for as JSON, and at least one."""
    if room is None:
        return list(rows)
    taken: list[Row] = []
    for row in rows:
        room -= len(json_text(row)) + 1
        if room < 0 and taken:
            break
        taken.append(row)
    return taken


def json_text(data: Any) -> str:
    """Compact JSON, as it stands in an answer."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


# ── spec ─────────────────────────────────────────────────────────────────────────────────────────


Kind = Literal[
    "string",
    "integer",
    "boolean",
    "strings",
    "string_or_strings",
    "line_range",
    "object",
    "objects",
]


@dataclass(frozen=True)
class Parameter:
    """One parameter: the name handlers use, its name in each mode, and what it may hold."""

    name: str
    kind: Kind
    help: str
    compat: str | None = None
    aliases: tuple[str, ...] = ()
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    listed_normal: bool = True
    listed_compat: bool = True
    leads: bool = False
    """Not a path, but where none is given, it may say itself which mount it is about."""
    on_names: bool = False
    """Globs that are matched on names below the path."""
    fields: tuple[Parameter, ...] = ()
    """What an object, or each of a list of objects, may hold."""

    def shown(self, compat: bool) -> str:
        """Its name in the schema of a mode."""
        return self.compat if compat and self.compat else self.name

    @property
    def label(self) -> str:
        """Its name in a refusal, with that of the other mode first."""
        return f"{self.compat} ({self.name})" if self.compat else self.name

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every name it is accepted under, in either mode."""
        given = (self.name, self.compat, *self.aliases)
        return tuple(dict.fromkeys(name for name in given if name))


@dataclass(frozen=True)
class ToolSpec:
    """One tool."""

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    handler: Callable[[Call, Arguments], Answer]
    toolset: str = "files"
    normal: bool = True
    compat: bool = True
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True
    aliases: tuple[str, ...] = ()
    """Further names, each listed, callable and, where the tool is one, a direct method."""
    role: Role | None = None
    """Listed and callable only for those who have it on some notes; None: for everybody."""
    loaded: bool = False
    """Whether clients are told to load it at once and to take long answers of it whole."""
    direct: bool = False
    """Also a JSON-RPC method of its own on the sockets; every tool that answers JSON is."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name it is called by."""
        return (self.name, *self.aliases)

    @property
    def answers_json(self) -> bool:
        """Whether its texts are JSON objects, its failures among them."""
        return self.toolset in ("index", "kb")

    @property
    def is_direct(self) -> bool:
        """Whether it is a direct method."""
        return self.direct or self.answers_json

    def without(self, names: Collection[str]) -> ToolSpec | None:
        """The tool under the names that are left; None where none is."""
        left = [name for name in self.names if name not in names]
        return replace(self, name=left[0], aliases=tuple(left[1:])) if left else None

    def in_mode(self, compat: bool) -> bool:
        """Whether it is listed in this naming mode (it is callable in both)."""
        return self.compat if compat else self.normal


def input_schema(spec: ToolSpec, compat: bool) -> Mapping[str, Any]:
    """The JSON schema a client sees in this mode."""
    return _object(spec.parameters, compat)


def _object(parameters: tuple[Parameter, ...], compat: bool) -> dict[str, Any]:
    shown = [p for p in parameters if (p.listed_compat if compat else p.listed_normal)]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {p.shown(compat): _property(p, compat) for p in shown},
        "additionalProperties": False,
    }
    required = [p.shown(compat) for p in shown if p.required]
    if required:
        schema["required"] = required
    return schema


def _property(parameter: Parameter, compat: bool) -> dict[str, Any]:
    schema: dict[str, Any] = dict(_SHAPES[parameter.kind])
    if parameter.kind == "object":
        schema = _object(parameter.fields, compat)
    elif parameter.kind == "objects":
        schema["items"] = _object(parameter.fields, compat)
    schema["description"] = parameter.help
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    if parameter.minimum is not None:
        schema["minimum"] = parameter.minimum
    if parameter.default is not None:
        schema["default"] = parameter.default
    return schema


_STRINGS = {"type": "array", "items": {"type": "string"}}
_SHAPES: Mapping[Kind, Mapping[str, Any]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "strings": _STRINGS,
    "string_or_strings": {"anyOf": [{"type": "string"}, _STRINGS]},
    "line_range": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
    "object": {"type": "object"},
    "objects": {"type": "array"},
}


# ── budget ───────────────────────────────────────────────────────────────────────────────────────
# The character budget of an answer: filled line by line, never cut inside one.
#
# The room for the line that says what is missing is set aside first, so an answer with it stays
# within the budget too. A first line that is larger than all of it is taken all the same: an answer
# that shows nothing cannot be continued.


class Budget:
    """Lines collected until the next one would not fit; a budget of 0 has no end."""

    def __init__(self, chars: int) -> None:
        self.lines: list[str] = []
        self.is_bounded = chars > 0
        self._left = max(chars - limits.FOOTER_CHARS, chars // 2)

    def take(self, line: str) -> bool:
        """Take a line if it fits; False says it was left out and the answer is full."""
        if not self.fits(len(line)) and self.lines:
            return False
        self.lines.append(line)
        self._left -= len(line) + 1
        return True

    def take_first(self, lines: list[str]) -> int:
        """Take the first lines, as many as fit; how many that are."""
        if self.is_bounded:
            return next((at for at, line in enumerate(lines) if not self.take(line)), len(lines))
        self.lines += lines
        return len(lines)

    def fits(self, chars: int) -> bool:
        """Whether a line of so many characters fits."""
        return not self.is_bounded or chars + 1 <= self._left

    @property
    def room(self) -> int | None:
        """Characters the next line may have; None where there is no budget."""
        return max(0, self._left - 1) if self.is_bounded else None

    def text(self, footer: str = "") -> str:
        """The answer: the lines taken, then the footer."""
        return "\n".join([*self.lines, footer] if footer else self.lines)
