"""Reads a call's arguments against a tool's row: names, types, ranges, each refusal by name.

Numbers and booleans sent as strings are accepted (several clients do); unknown names are refused
with the nearest known one; two names of one parameter must agree.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flashgrep.errors import InvalidParams
from flashgrep.tools.dispatch.spec import Kind, Parameter, ToolSpec

_LARGEST = 2**53
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
        """The same of a parameter that only some servers have; None where this one has not."""
        return self._values.get(name)


def read_arguments(spec: ToolSpec, arguments: Mapping[str, Any] | None) -> Arguments:
    """Check `arguments` against the tool's row."""
    given = {} if arguments is None else arguments
    if not isinstance(given, Mapping):
        raise InvalidParams(f"arguments of {spec.name} must be an object, not {_kind(given)}")
    owner = _Owner(spec.name, compat=spec.compat)
    found = _found(owner, spec.parameters, given)
    return Arguments(_with_defaults(owner, spec.parameters, found), frozenset(found))


@dataclass(frozen=True)
class _Owner:
    """Whose parameters are read: a tool's, or those of an object in its arguments."""

    name: str
    word: str = "parameter"
    compat: bool = False
    """Whether a missing parameter is named as Claude Code names it."""

    def path(self, name: str) -> str:
        """How a refusal names one of them."""
        return name if self.word == "parameter" else f"{self.name}.{name}"


def _found(
    owner: _Owner, parameters: tuple[Parameter, ...], given: Mapping[str, Any]
) -> dict[str, tuple[str, Any]]:
    by_name = {name: p for p in parameters for name in p.names}
    found: dict[str, tuple[str, Any]] = {}
    for name, value in given.items():
        if name not in by_name:
            raise InvalidParams(_unknown(owner, name, by_name))
        if value is not None:
            _take(found, by_name[name], owner.path(name), value)
    return found


def _take(found: dict[str, tuple[str, Any]], parameter: Parameter, name: str, value: Any) -> None:
    read = _read(parameter, name, value)
    earlier = found.get(parameter.name)
    if earlier is not None and earlier[1] != read:
        raise InvalidParams(
            f"{earlier[0]} and {name} are two names of one parameter and were given different "
            f"values ({earlier[1]!r} and {read!r}); send one of them"
        )
    found[parameter.name] = (name, read)


def _with_defaults(
    owner: _Owner, parameters: tuple[Parameter, ...], found: Mapping[str, tuple[str, Any]]
) -> dict[str, Any]:
    values = {}
    for parameter in parameters:
        if parameter.name in found:
            values[parameter.name] = found[parameter.name][1]
        elif parameter.required:
            raise InvalidParams(_missing(owner, parameter))
        else:
            values[parameter.name] = parameter.default
    return values


def _missing(owner: _Owner, parameter: Parameter) -> str:
    name = owner.path(parameter.shown(owner.compat))
    others = [owner.path(other) for other in parameter.names if owner.path(other) != name]
    also = f" ({' and '.join(others)} {'is' if len(others) == 1 else 'are'} accepted too)"
    return f"Missing required {owner.word}: {name}{also if others else ''}"


def _unknown(owner: _Owner, name: str, known: Mapping[str, Parameter]) -> str:
    close = difflib.get_close_matches(name, known, 1, 0.6)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    words = f"{owner.word.capitalize()}s"
    return f"{owner.name} has no {owner.word} {_shown(name)}.{hint} {words}: {', '.join(known)}"


def _read(parameter: Parameter, name: str, value: Any) -> Any:
    if parameter.kind == "object":
        return _object(parameter, name, value)
    if parameter.kind == "objects":
        return _objects(parameter, name, value)
    read = _READERS[parameter.kind](name, value)
    if parameter.choices and read not in parameter.choices:
        raise InvalidParams(f"{name} is {read!r}; valid values: {', '.join(parameter.choices)}")
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
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _decoded(value)
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise InvalidParams(f"{name} must be a list of strings, not {_shown(value)}")
    return [_string(f"{name}[{at}]", item) for at, item in enumerate(value)]


def _string_or_strings(name: str, value: Any) -> str | list[str]:
    return _strings(name, value) if isinstance(value, list) else _string(name, value)


def _line_range(name: str, value: Any) -> list[int]:
    if isinstance(value, str):
        value = _decoded(value)
    if not isinstance(value, list) or len(value) != 2:
        raise InvalidParams(f"{name} must be [start, end], two line numbers, not {_shown(value)}")
    return [_integer(f"{name}[{at}]", item) for at, item in enumerate(value)]


def _object(parameter: Parameter, name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _decoded(value)
    if not isinstance(value, Mapping):
        raise InvalidParams(f"{name} must be an object, not {_shown(value)}")
    owner = _Owner(name, "field")
    return _with_defaults(owner, parameter.fields, _found(owner, parameter.fields, value))


def _objects(parameter: Parameter, name: str, value: Any) -> list[dict[str, Any]]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _decoded(value)
    if not isinstance(value, list):
        raise InvalidParams(f"{name} must be a list of objects, not {_shown(value)}")
    return [_object(parameter, f"{name}[{at}]", item) for at, item in enumerate(value)]


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return kinds.get(type(value), "a number" if isinstance(value, int | float) else "null")


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str | int | float) else _kind(value)
    return text if len(text) <= 80 else text[:77] + "..."


_READERS: Mapping[Kind, Callable[[str, Any], Any]] = {
    "string": _string,
    "integer": _integer,
    "boolean": _boolean,
    "strings": _strings,
    "string_or_strings": _string_or_strings,
    "line_range": _line_range,
}
