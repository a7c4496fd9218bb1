"""A tool is a row, and the arguments of a call are read against it.

Listing, argument reading and dispatch come from the row on every transport, so a tool is changed
by touching its one file. Numbers and booleans sent as strings are accepted (several clients do);
unknown names are refused with the nearest known one; two names of one parameter must agree.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from flashgrep import limits
from flashgrep.errors import InvalidParams

if TYPE_CHECKING:
    from flashgrep.notes.access.roles import Role
    from flashgrep.search.pattern import PatternSpec
    from flashgrep.tools.dispatch.call import Answer, Call

Kind = Literal[
    "string",
    "integer",
    "boolean",
    "strings",
    "string_or_strings",
    "line_range",
    "strings_by_name",
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
    """Not a path, but it may name the mount if no path is given."""
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


def path_row(text: str) -> Parameter:
    """The required path of a tool of files, as both modes name it."""
    return Parameter("path", "string", text, compat="file_path", required=True)


def file_path_row(text: str, required: bool = True) -> Parameter:
    """The path of a tool that answers JSON."""
    return Parameter("file_path", "string", text, aliases=("path",), required=required)


def page_rows(kind: str, limit: int | None = None) -> tuple[Parameter, Parameter]:
    """`limit` and `offset` of a list."""
    return (
        Parameter("limit", "integer", f"At most this many {kind}", default=limit, minimum=1),
        Parameter("offset", "integer", f"Skip this many {kind} first", default=0, minimum=0),
    )


class BriefSearch(NamedTuple):
    """A search that may finish in a moment."""

    pattern: PatternSpec
    is_page: bool
    """Whether a page of what is found will do."""


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
    """Whether it changes nothing; every tool that changes something can overwrite."""
    idempotent: bool = True
    aliases: tuple[str, ...] = ()
    """Further names, each listed, callable and, where the tool is one, a direct method."""
    role: Role | None = None
    """Listed and callable only for callers that have it on some notes; None: for all."""
    loaded: bool = False
    """Whether it asks clients to load it at once and to take its long answers whole."""
    direct: bool = False
    """Also a JSON-RPC method on the sockets; every tool that answers JSON is."""
    sought: Callable[[Arguments], BriefSearch | None] | None = None
    """What a call searches for in the whole tree, where that may be over in a moment: the call is
    tried without a thread then (see `moments`). None for any other call."""

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

    def describe(self, name: str) -> str:
        """Its description under one of its names."""
        if name == self.name:
            return self.description
        return f"Another name of {self.name}: {self.title.lower()}."

    def without(self, names: Collection[str]) -> ToolSpec | None:
        """The tool under the names that are left; None where none is."""
        left = [name for name in self.names if name not in names]
        return replace(self, name=left[0], aliases=tuple(left[1:])) if left else None

    def in_mode(self, compat: bool) -> bool:
        """Whether it is listed in this naming mode (it is callable in both)."""
        return self.compat if compat else self.normal


def input_schema(spec: ToolSpec, compat: bool) -> Mapping[str, Any]:
    """The JSON schema a client sees in this mode."""
    return _schema(spec.parameters, compat)


def _schema(parameters: tuple[Parameter, ...], compat: bool) -> dict[str, Any]:
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
        schema = _schema(parameter.fields, compat)
    elif parameter.kind == "objects":
        schema["items"] = _schema(parameter.fields, compat)
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
    "strings_by_name": {"type": "object", "additionalProperties": {"type": "string"}},
    "object": {"type": "object"},
    "objects": {"type": "array"},
}


# ── arguments ────────────────────────────────────────────────────────────────────────────────────


_LARGEST = 2**53
_SHOWN_CHARS = 80  # of a value that is not valid
_INTEGER = re.compile(r"\s*[+-]?\d{1,18}(?:\.0+)?\s*")


class Arguments:
    """The values of a call by the parameter's own name; an absent one is its default."""

    def __init__(self, values: Mapping[str, Any], given: frozenset[str]) -> None:
        self._values = values
        self.given = given

    def text(self, name: str) -> str:
        """A string that is known to be there."""
        value = self._values[name]
        assert isinstance(value, str)  # noqa: S101 - the row declared it a required string
        return value

    def get(self, name: str) -> Any:
        """A value, or its default."""
        return self._values[name]

    def find(self, name: str) -> Any:
        """Like `get`, for a parameter that only some servers have; None if this one lacks it."""
        return self._values.get(name)


def read_arguments(spec: ToolSpec, arguments: Mapping[str, Any] | None) -> Arguments:
    """Check `arguments` against the tool's row."""
    given = {} if arguments is None else arguments
    if not isinstance(given, Mapping):
        raise InvalidParams(f"arguments of {spec.name} must be an object, not {_kind(given)}")
    return Arguments(*_values(_Owner(spec.name, compat=spec.compat), spec.parameters, given))


@dataclass(frozen=True)
class _Owner:
    """The owner of the parameters being read: a tool, or an object in its arguments."""

    name: str
    word: str = "parameter"
    compat: bool = False
    """Whether a missing parameter is named as Claude Code names it."""

    def path(self, name: str) -> str:
        """How a refusal names one of them."""
        return name if self.word == "parameter" else f"{self.name}.{name}"


def _values(
    owner: _Owner, parameters: tuple[Parameter, ...], given: Mapping[str, Any]
) -> tuple[dict[str, Any], frozenset[str]]:
    """The values of all parameters, and which of them were given."""
    by_name = {name: p for p in parameters for name in p.names}
    found: dict[str, tuple[str, Any]] = {}
    for given_name, value in given.items():
        if given_name not in by_name:
            raise InvalidParams(_unknown(owner, given_name, by_name))
        if value is None:
            continue
        parameter, name = by_name[given_name], owner.path(given_name)
        read = _read(parameter, name, value)
        earlier, known = found.setdefault(parameter.name, (name, read))
        if known != read:
            raise InvalidParams(
                f"{earlier} and {name} are two names of one parameter and were given different "
                f"values ({_cut(repr(known))} and {_cut(repr(read))}); send one of them"
            )
    for parameter in parameters:
        if parameter.required and parameter.name not in found:
            raise InvalidParams(_missing(owner, parameter))
    values = {p.name: found[p.name][1] if p.name in found else p.default for p in parameters}
    return values, frozenset(found)


def _missing(owner: _Owner, parameter: Parameter) -> str:
    name = owner.path(parameter.shown(owner.compat))
    others = [owner.path(other) for other in parameter.names if owner.path(other) != name]
    also = f" ({' and '.join(others)} {'is' if len(others) == 1 else 'are'} accepted too)"
    return f"Missing required {owner.word}: {name}{also if others else ''}"


_NEW = ("new_string", "new_str", "replacement", "content")
_FOREIGN: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("file_text", "text", "contents", "code", "data", "body"), ("content", *_NEW)),
    **dict.fromkeys(("new_string", "new_str", "new_text", "new_content"), _NEW),
    **dict.fromkeys(("old_text", "old_content", "search"), ("old_string", "old_str", "pattern")),
    **dict.fromkeys(("query", "regex", "regexp", "needle"), ("pattern", "text")),
    **dict.fromkeys(("file", "filename", "filepath", "target_file"), ("file_path", "path")),
    **dict.fromkeys(("directory", "dir", "folder", "cwd", "root"), ("path",)),
    **dict.fromkeys(("name", "symbol", "identifier"), ("symbol_name",)),
    **dict.fromkeys(("max_results", "head_limit", "limit", "count"), ("limit", "head_limit")),
}
"""What other tools call a parameter → what it may be called here; the first that there is."""


def _unknown(owner: _Owner, name: str, known: Mapping[str, Parameter]) -> str:
    meant = [other for other in _FOREIGN.get(name, ()) if other in known]
    close = meant or difflib.get_close_matches(name, known, 1, 0.6)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    listed = f"{owner.word.capitalize()}s: {', '.join(known)}" if known else "It takes none."
    return f"{owner.name} has no {owner.word} {_shown(name)}.{hint} {listed}"


def _read(parameter: Parameter, name: str, value: Any) -> Any:
    if parameter.kind == "object":
        return _object(parameter, name, value)
    if parameter.kind == "objects":
        return _objects(parameter, name, value)
    read = _READERS[parameter.kind](name, value)
    if parameter.choices and read not in parameter.choices:
        raise InvalidParams(
            f"{name} is {_shown(read)}; valid values: {', '.join(parameter.choices)}"
        )
    if parameter.minimum is not None and read < parameter.minimum:
        raise InvalidParams(f"{name} is {read}; the smallest valid value is {parameter.minimum}")
    return read


def _string(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidParams(f"{name} must be a string, not {_kind(value)}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidParams(f"{name} holds a lone surrogate; send valid Unicode") from None
    return value


def _integer(name: str, value: Any) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(float(value)) if "." in value else int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidParams(f"{name} must be a whole number, not {_shown(value)}")
    if abs(value) > _LARGEST:
        raise InvalidParams(f"{name} is out of range; the largest valid value is {_LARGEST}")
    return value


def _boolean(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise InvalidParams(f"{name} must be true or false, not {_shown(value)}")


def _strings(name: str, value: Any) -> list[str]:
    value = _decoded(value, "[")
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise InvalidParams(f"{name} must be a list of strings, not {_shown(value)}")
    return [_string(f"{name}[{at}]", item) for at, item in enumerate(value)]


def _string_or_strings(name: str, value: Any) -> str | list[str]:
    return _strings(name, value) if isinstance(value, list) else _string(name, value)


def _line_range(name: str, value: Any) -> list[int]:
    value = _decoded(value, "[")
    if not isinstance(value, list) or len(value) != 2:
        raise InvalidParams(f"{name} must be [start, end], two line numbers, not {_shown(value)}")
    return [_integer(f"{name}[{at}]", item) for at, item in enumerate(value)]


def _strings_by_name(name: str, value: Any) -> dict[str, str]:
    value = _decoded(value, "{")
    if not isinstance(value, Mapping):
        raise InvalidParams(f"{name} must be an object of strings, not {_shown(value)}")
    return {_string(name, key): _string(f"{name}.{key}", one) for key, one in value.items()}


def _object(parameter: Parameter, name: str, value: Any) -> dict[str, Any]:
    value = _decoded(value, "{")
    if not isinstance(value, Mapping):
        raise InvalidParams(f"{name} must be an object, not {_shown(value)}")
    values, _ = _values(_Owner(name, "field"), parameter.fields, value)
    return values


def _objects(parameter: Parameter, name: str, value: Any) -> list[dict[str, Any]]:
    value = _decoded(value, "[")
    if not isinstance(value, list):
        raise InvalidParams(f"{name} must be a list of objects, not {_shown(value)}")
    return [_object(parameter, f"{name}[{at}]", item) for at, item in enumerate(value)]


def _decoded(value: Any, opening: str) -> Any:
    """A list or an object that came as JSON in a string; anything else as it is."""
    try:
        is_json = isinstance(value, str) and value.lstrip().startswith(opening)
        return json.loads(value) if is_json else value
    except (ValueError, RecursionError):
        return value


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return kinds.get(type(value), "a number" if isinstance(value, int | float) else "null")


def _shown(value: Any) -> str:
    return _cut(repr(value)) if isinstance(value, str | int | float) else _kind(value)


def _cut(text: str) -> str:
    return limits.shortened(text, _SHOWN_CHARS)


_READERS: Mapping[Kind, Callable[[str, Any], Any]] = {
    "string": _string,
    "integer": _integer,
    "boolean": _boolean,
    "strings": _strings,
    "string_or_strings": _string_or_strings,
    "line_range": _line_range,
    "strings_by_name": _strings_by_name,
}
