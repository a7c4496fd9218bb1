"""Parses a glob and spells it for RE2; globs.py says what the dialect means.

    parse_glob   text → nodes; whatever is malformed is refused, with its place
    spelled      nodes → the source of an expression that is matched whole
    by_component nodes → one tuple for each path component, and back with joined
    shape_of     nodes → the same said by the beginning and the end of paths, where that is all

Braces become alternations, never lists of expanded patterns, so nested ones cannot explode. A
`**` beside a brace is read as if the braces were expanded: the slash or the `**` next to the
group moves into its alternatives where that matters. Two corners are given up, where only true
expansion would do: `**` is a plain `*` when it and its slash come from two groups that touch
(`a{/**,}{/b,c}`), and next to a group with an empty alternative (`x/{,a}**`).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from flashgrep import limits
from flashgrep.errors import InvalidParams

BAD_BYTES = {0xDC00 + byte: 0x10FF00 + byte for byte in range(0x80, 0x100)}
"""Lone surrogates, one for each byte of a name that is not UTF-8, as private-use characters."""

CROSSING = ".*"
"""What only `**` is spelled with: a literal dot becomes \\x{2e}."""

_DIRECTORIES = f"(?:{CROSSING}/)?"
_NOTHING = r"[^\x{0}-\x{10ffff}]"


class Wild(enum.Enum):
    """A wildcard of the parsed pattern."""

    ANY = "?"
    STAR = "*"
    DOUBLE = "**"


@dataclass(frozen=True, slots=True)
class Class:
    """A bracket expression, already in RE2's spelling."""

    source: str


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Braces: any one of the alternatives."""

    alternatives: tuple[Parsed, ...]


Node = str | Wild | Class | Alternatives  # a str is one literal character
Parsed = tuple[Node, ...]


class _GlobParser:
    """Read one pattern into nodes; whatever is malformed is refused with its place."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def parse(self) -> Parsed:
        if not self.pattern:
            raise InvalidParams("The glob '' is empty: give a pattern such as *.py or src/**/*.ts")
        if len(self.pattern) > limits.GLOB_CHARS:
            raise InvalidParams(
                f"The glob {self.pattern[:60]!r}... has {len(self.pattern):,} characters; the limit"
                f" is {limits.GLOB_CHARS:,}: split it into several patterns"
            )
        return self._sequence(0)

    def _sequence(self, depth: int) -> Parsed:
        nodes: list[Node] = []
        while self.at < len(self.pattern):
            character = self.pattern[self.at]
            if depth and character in ",}":
                break
            nodes.append(self._node(character, depth))
        return tuple(nodes)

    def _node(self, character: str, depth: int) -> Node:
        if character == "[":
            return self._class()
        if character == "{":
            return self._group(depth + 1)
        self.at += 1
        if character == "\\":
            return self._escaped(self.at - 1)
        if character == "?":
            return Wild.ANY
        return self._stars() if character == "*" else character

    def _stars(self) -> Wild:
        start = self.at - 1
        while self.pattern[self.at : self.at + 1] == "*":
            self.at += 1
        return Wild.STAR if self.at - start == 1 else Wild.DOUBLE

    def _escaped(self, start: int) -> str:
        if self.at == len(self.pattern):
            raise self._malformed(start, "a trailing \\", "write \\\\ for a backslash")
        self.at += 1
        return self.pattern[self.at - 1]

    def _group(self, depth: int) -> Alternatives:
        start = self.at
        if depth > limits.GLOB_NESTING:
            remedy = f"at most {limits.GLOB_NESTING} levels are read"
            raise self._malformed(start, "braces nested too deep", remedy)
        alternatives: list[Parsed] = []
        while True:
            self.at += 1
            alternatives.append(self._sequence(depth))
            if self.at == len(self.pattern):
                raise self._malformed(start, "an unclosed {", "close it with }, or write \\{")
            if self.pattern[self.at] == "}":
                self.at += 1
                return Alternatives(tuple(alternatives))

    def _class(self) -> Class:
        start = self.at
        self.at += 1
        negated = self.pattern[self.at : self.at + 1] in ("!", "^")
        self.at += negated
        ranges: list[tuple[int, int]] = []
        while not ranges or self.pattern[self.at : self.at + 1] != "]":
            ranges.append(self._range(start))
        self.at += 1
        return Class(_class_source(ranges, negated))

    def _range(self, start: int) -> tuple[int, int]:
        low = self._member(start)
        after = self.pattern[self.at + 1 : self.at + 2]
        if self.pattern[self.at : self.at + 1] != "-" or after in ("]", ""):
            return low, low
        self.at += 1
        high = self._member(start)
        if high < low:
            raise self._malformed(start, "a range that runs backwards", "write [a-z], low first")
        return low, high

    def _member(self, start: int) -> int:
        if self.at >= len(self.pattern):
            raise self._malformed(start, "an unclosed [", "close it with ], or write \\[")
        character = self.pattern[self.at]
        self.at += 1
        return _code(self._escaped(self.at - 1) if character == "\\" else character)

    def _malformed(self, start: int, what: str, remedy: str) -> InvalidParams:
        where = f"character {start + 1}"
        return InvalidParams(f"The glob {self.pattern!r} has {what} at {where}: {remedy}")


def parse_glob(pattern: str) -> Parsed:
    """Read a pattern; refuse a malformed one with its place and the remedy."""
    return _GlobParser(pattern).parse()


def _class_source(ranges: list[tuple[int, int]], negated: bool) -> str:
    """Spell a class for RE2; a slash is never in it, negated or not."""
    slash = ord("/")
    if negated:
        ranges = [*ranges, (slash, slash)]
    else:
        parts = [((low, min(high, slash - 1)), (max(low, slash + 1), high)) for low, high in ranges]
        ranges = [part for pair in parts for part in pair if part[0] <= part[1]]
    inside = "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges)
    return f"[{'^' if negated else ''}{inside}]" if inside else _NOTHING


def _code(character: str) -> int:
    return BAD_BYTES.get(ord(character), ord(character))


def literal(character: str) -> str:
    """Spell one character."""
    plain = character == "/" or (character.isascii() and character.isalnum())
    return character if plain else f"\\x{{{_code(character):x}}}"


# ── from nodes to RE2 ───────────────────────────────────────────────────────────────────────────


def edges(group: Alternatives, end: int) -> Iterator[Node]:
    """The nodes that are first (end 0) or last (end -1) in the alternatives."""
    for alternative in group.alternatives:
        if alternative:
            node = alternative[end]
            yield from edges(node, end) if isinstance(node, Alternatives) else (node,)


def _always_ends(node: Node) -> bool:
    """Whether a component ends with this node on every way through it."""
    if isinstance(node, Alternatives):
        return all(way and _always_ends(way[-1]) for way in node.alternatives)
    return node == "/"


def _goes_in(node: Node, group: Node, end: int) -> bool:
    """Whether a slash or `**` next to a group can only be understood inside it."""
    if not isinstance(group, Alternatives) or node not in ("/", Wild.DOUBLE):
        return False
    beside = set(edges(group, end))
    if node == "/":
        return end == -1 and not beside.isdisjoint(("/", Wild.DOUBLE))
    return "/" in beside


def _absorbed(nodes: Parsed) -> Parsed:
    """Move slashes and `**` into the groups that need them, until nothing moves."""
    found: list[Node] = []
    for node in nodes:
        while isinstance(node, Alternatives) and found and _goes_in(found[-1], node, 0):
            first = found.pop()
            node = Alternatives(tuple((first, *rest) for rest in node.alternatives))
        last = found[-1] if found else ""
        if isinstance(last, Alternatives) and _goes_in(node, last, -1):
            found[-1] = Alternatives(tuple((*rest, node) for rest in last.alternatives))
        else:
            found.append(node)
    return tuple(found) if len(found) == len(nodes) else _absorbed(tuple(found))


def spelled(nodes: Parsed) -> str:
    """Spell a pattern for RE2, to be matched on whole paths with a slash added at the end.

    With that slash every component ends alike, the last one too, and a `**` that takes its own
    slash along can match no component at all: `x/**` is `x/` and then any number of `…/`.
    """
    ending: Parsed = (Wild.DOUBLE, "/") if nodes[-1] == "/" else ("/",)
    return _spelled(nodes + ending, nodes[0] != "/")


def _spelled(nodes: Parsed, starts: bool) -> str:
    out: list[str] = []
    nodes = _absorbed(nodes)
    for at, node in enumerate(nodes):
        following = nodes[at + 1] if at + 1 < len(nodes) else ""
        if isinstance(node, Alternatives):
            ways = (_spelled(way, starts) for way in node.alternatives)
            out.append(f"(?:{'|'.join(ways)})")
        elif node == Wild.DOUBLE and starts and following == "/":
            out += [_DIRECTORIES] if out[-1:] != [_DIRECTORIES] else []
        elif not (node == "/" and starts):  # a slash the component before has taken, or a second
            out.append(_plain(node))
        starts = _always_ends(node) or out[-1:] == [_DIRECTORIES]
    return "".join(out)


def _plain(node: Node) -> str:
    if isinstance(node, Class):
        return node.source
    if isinstance(node, str):
        return literal(node)
    return "[^/]" if node is Wild.ANY else "[^/]*"


def by_component(nodes: Parsed) -> list[Parsed]:
    components: list[list[Node]] = [[]]
    for node in nodes:
        if node == "/":
            components.append([])
        else:
            components[-1].append(node)
    return [tuple(component) for component in components]


def joined(components: Sequence[Parsed]) -> Parsed:
    nodes: list[Node] = []
    for component in components:
        nodes += ["/", *component] if nodes else component
    return tuple(nodes)


# ── shapes ──────────────────────────────────────────────────────────────────────────────────────

_TAILS = 64


@dataclass(frozen=True, slots=True)
class GlobShape:
    """A pattern that the beginning and the end of a path decide: `src/**/*.{c,h}`, `Makefile`.

    For matching many paths at once. All of it is ASCII and case-sensitive.
    """

    directory: str
    """What paths are below; empty for any."""
    is_deep: bool
    """Whether any number of directories may be in between; if not, none is."""
    tails: tuple[str, ...]
    """One of these ends the path …"""
    is_name: bool
    """… and is the whole of its last component."""


def shape_of(nodes: Parsed, has_slash: bool) -> GlobShape | None:
    """The shape of a pattern; None where it has none."""
    *above, last = by_component(nodes)
    directory = list(takewhile(_is_text, above))
    crossing = above[len(directory) :]
    if any(component != (Wild.DOUBLE,) for component in crossing):
        return None
    if last == (Wild.DOUBLE,):
        tails: set[str] | None = None if directory else {""}
        is_name = False
    else:
        is_name = last[:1] != (Wild.STAR,)
        tails = _texts(last if is_name else last[1:])
    text = "/".join("".join(map(str, component)) for component in directory)
    if not tails or (is_name and "" in tails) or not (text + "".join(tails)).isascii():
        return None
    is_deep = bool(crossing) or last == (Wild.DOUBLE,) or not has_slash
    return GlobShape(directory=text, is_deep=is_deep, tails=tuple(sorted(tails)), is_name=is_name)


def _is_text(component: Parsed) -> bool:
    return bool(component) and all(isinstance(node, str) for node in component)


def _texts(nodes: Parsed) -> set[str] | None:
    """All texts that nodes stand for, if they are few and contain no wildcard or slash."""
    texts = {""}
    for node in nodes:
        ways: set[str] | None = {node} if isinstance(node, str) else None
        if isinstance(node, Alternatives):
            found = [_texts(way) for way in node.alternatives]
            ways = None if None in found else {text for way in found for text in way or ()}
        if ways is None or "/" in "".join(ways) or len(texts) * len(ways) > _TAILS:
            return None
        texts = {text + way for text in texts for way in ways}
    return texts
