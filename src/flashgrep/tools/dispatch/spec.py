"""A tool is a row: names, parameters in both naming modes, schema, annotations, handler.

Listing, argument reading and dispatch come from the row on every transport, so a tool is changed
by touching its one file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from flashgrep.notes.access.roles import Role
    from flashgrep.tools.dispatch.answer import Answer
    from flashgrep.tools.dispatch.arguments import Arguments
    from flashgrep.tools.dispatch.toolbox import Call

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
