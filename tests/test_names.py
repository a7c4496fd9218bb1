"""Names in the sources: a class name stands for one thing, and wide values name their fields."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

SOURCES: Final = Path(__file__).parent.parent / "src" / "flashgrep"
MOST_POSITIONAL: Final = 3

SHARED_NAMES: Final = frozenset[str]()
"""Class names that still stand for several things. The list only shrinks."""

POSITIONAL: Final = {
    "NoteSnapshot": 2,
    "Published": 1,
}
"""How often values of a class are still built by position. The numbers only shrink."""


class Module(NamedTuple):
    """What the tests look at of a module."""

    name: str
    classes: list[ast.ClassDef]
    calls: list[ast.Call]
    imported: frozenset[str]


@cache
def modules() -> list[Module]:
    return [parsed(path) for path in sorted(SOURCES.rglob("*.py"))]


def parsed(path: Path) -> Module:
    nodes = list(ast.walk(ast.parse(path.read_bytes())))
    imports = (node for node in nodes if isinstance(node, ast.ImportFrom))
    return Module(
        name=path.relative_to(SOURCES).with_suffix("").as_posix().replace("/", "."),
        classes=[node for node in nodes if isinstance(node, ast.ClassDef)],
        calls=[node for node in nodes if isinstance(node, ast.Call)],
        imported=frozenset(alias.asname or alias.name for node in imports for alias in node.names),
    )


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    return ((module.name, node) for module in modules() for node in module.classes)


def test_a_class_name_is_used_once() -> None:
    places = defaultdict(list)
    for module, node in classes():
        places[node.name].append(module)
    shared = {name: found for name, found in places.items() if len(found) > 1}
    new = {name: found for name, found in shared.items() if name not in SHARED_NAMES}
    assert not new, f"give one of each another name: {new}"
    unneeded = sorted(SHARED_NAMES - set(shared))
    assert not unneeded, f"no longer shared: take {unneeded} out of SHARED_NAMES"


def test_a_value_of_many_fields_is_built_by_keyword() -> None:
    values = {node.name for _, node in classes() if is_value(node)}
    found = defaultdict(list)
    for module in modules():
        for call in module.calls:
            if len(call.args) > MOST_POSITIONAL:
                found[called_class(call, module)].append(f"{module.name}:{call.lineno}")
    new = {name: found[name] for name in values if len(found[name]) > POSITIONAL.get(name, 0)}
    assert not new, f"more than {MOST_POSITIONAL} positional arguments; name them: {new}"
    left = {name: len(found[name]) for name in POSITIONAL if name in values and found[name]}
    assert left == POSITIONAL, f"fewer are left: POSITIONAL = {left}"


def is_value(node: ast.ClassDef) -> bool:
    """Whether it is a dataclass or a NamedTuple."""
    marks = [*node.decorator_list, *node.bases]
    return any(last_name(mark) in ("dataclass", "NamedTuple") for mark in marks)


def called_class(call: ast.Call, module: Module) -> str:
    """The name that is called; "" for a method, which may have the name of a class too."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr if last_name(call.func.value) in module.imported else ""
    return last_name(call.func)


def last_name(node: ast.expr) -> str:
    """The last word of a name, an attribute or a call of one; "" for anything else."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
