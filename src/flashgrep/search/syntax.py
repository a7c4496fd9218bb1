r"""Reads a pattern into a tree, as far as it is understood for certain, and finds its literals.

    Char("a")          one character, `folded` where case does not count
    Choice({0x61, …})  one ASCII character out of a set
    Unknown()          any text, none included: `.`, `\pL`, a set that reaches beyond ASCII
    Edge("end")        a place, no text: `^` `$` `\b` `\A` `\z` …
    Cat, Alt, Repeat   one after the other, one of several, one again and again

What speeds a search up reads this tree: literals for the matcher, grams for the index. A tree may
say less than the pattern, never more, so whatever is rare or odd becomes `Unknown`, and a pattern
beyond this parser has no tree at all. RE2 alone decides what matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Final, Literal, TypeGuard

from flashgrep import limits

_DEEPEST: Final = 50
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_DIGITS: Final = frozenset(range(0x30, 0x3A))
_LETTERS: Final = frozenset((*range(0x41, 0x5B), *range(0x61, 0x7B)))
_SPACES: Final = frozenset(b" \t\n\r\f")
_SETS: Final = {"d": _DIGITS, "w": _DIGITS | _LETTERS | {0x5F}, "s": _SPACES}
_NAMED: Final = {
    "alpha": _LETTERS,
    "digit": _DIGITS,
    "alnum": _LETTERS | _DIGITS,
    "upper": frozenset(range(0x41, 0x5B)),
    "lower": frozenset(range(0x61, 0x7B)),
    "space": _SPACES | {0x0B},
    "xdigit": _DIGITS | frozenset(b"abcdefABCDEF"),
    "word": _SETS["w"],
}


class _NotUnderstood(Exception):
    """The pattern leaves the part of the syntax known here."""


@dataclass(frozen=True)
class Char:
    """One character."""

    text: str
    folded: bool = False


@dataclass(frozen=True)
class Choice:
    """One ASCII character out of a set."""

    members: frozenset[int]
    folded: bool = False


@dataclass(frozen=True)
class Unknown:
    """Any text, none included."""


@dataclass(frozen=True)
class Edge:
    """A place without text."""

    kind: Literal["start", "end", "word"]


@dataclass(frozen=True)
class Cat:
    """Parts one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Alt:
    """One of several."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """A part again and again: at least `low` times, `high` times at most (None: no limit)."""

    part: Node
    low: int
    high: int | None


Node = Char | Choice | Unknown | Edge | Cat | Alt | Repeat
UNKNOWN: Final = Unknown()
_EDGES: Final = {"b": Edge("word"), "B": Edge("word"), "A": Edge("start"), "z": Edge("end")}


_PLAIN_TEXT: Final = re.compile(r"""[ !"#%&',/0-9:;<=>@A-Z_`a-z~-]+""")
"""Characters that stand for themselves wherever they are: most patterns have no others."""
_CHARACTERS: Final = {chr(code): Char(chr(code)) for code in range(0x20, 0x7F)}


def is_plain_text(pattern: str) -> bool:
    """Whether a pattern is a literal that is spelled as it is; there are others that are one."""
    return _PLAIN_TEXT.fullmatch(pattern) is not None


@lru_cache(2 * limits.REMEMBERED_PATTERNS)
def tree_of(pattern: str, folded: bool = False) -> Node | None:
    """The tree of a pattern that RE2 accepts; None for one beyond this parser."""
    if not folded and is_plain_text(pattern):
        characters = tuple(map(_CHARACTERS.__getitem__, pattern))
        return characters[0] if len(characters) == 1 else Cat(characters)
    parser = _PatternParser(pattern, folded)
    try:
        found = parser.alternation()
    except _NotUnderstood:
        return None
    return found if parser.at == len(pattern) else None


def atoms(node: Node) -> Iterator[Node]:
    """Every part of a tree that is made of no others."""
    match node:
        case Cat(parts) | Alt(parts):
            for part in parts:
                yield from atoms(part)
        case Repeat(part, _, _):
            yield from atoms(part)
        case _:
            yield node


class _PatternParser:
    """Recursive descent over alternation, sequence, atom, quantifier."""

    def __init__(self, pattern: str, folded: bool) -> None:
        self.pattern = pattern
        self.folded = folded
        self.at = 0
        self.depth = 0

    def alternation(self) -> Node:
        branches = [self._sequence()]
        while self._peek() == "|":
            self.at += 1
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else Alt(tuple(branches))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while (character := self._peek()) not in ("", "|", ")"):
            if self.pattern.startswith("\\Q", self.at):
                parts += self._quoted()
                continue
            node = self._atom(character)
            if node is not None:
                parts.append(self._quantified(node))
            elif self._peek() in tuple("*+?{"):
                raise _NotUnderstood  # it repeats what precedes the flags
        return parts[0] if len(parts) == 1 else Cat(tuple(parts))

    def _atom(self, character: str) -> Node | None:
        self.at += 1
        if character == "\\":
            return self._escape()
        if character == "[":
            return self._class()
        if character == "(":
            return self._group()
        if character in "^$":
            return Edge("start" if character == "^" else "end")
        if character in "*+?":
            raise _NotUnderstood
        return UNKNOWN if character == "." else self._char(character)

    def _char(self, character: str) -> Node:
        if self.folded and not character.isascii():
            return UNKNOWN  # it may be spelled with another number of bytes
        return Char(character, self.folded and character.isalpha())

    # ── escapes ─────────────────────────────────────────────────────────────────────────────────

    def _quoted(self) -> list[Node]:
        """The characters between backslash-Q and backslash-E; a quantifier takes the last one."""
        start = self.at + 2
        end = self.pattern.find("\\E", start)
        self.at = len(self.pattern) if end < 0 else end + 2
        text = self.pattern[start : end if end >= 0 else None]
        if not text and self._peek() in tuple("*+?{"):
            raise _NotUnderstood
        parts = [self._char(character) for character in text]
        if parts:
            parts[-1] = self._quantified(parts[-1])
        return parts

    def _escape(self) -> Node:
        character = self._take()
        if character in _EDGES:
            return _EDGES[character]
        if character in _SETS:
            return self._folded_choice(_SETS[character])
        if character in ("D", "W", "S", "p", "P"):
            self._skip_property(character)
            return UNKNOWN
        return self._char(self._escaped(character))

    def _escaped(self, character: str) -> str:
        """The character that an escape means."""
        if character == "x":
            return self._hexadecimal()
        if character in _ESCAPES:
            return _ESCAPES[character]
        if not character or character.isalnum():
            raise _NotUnderstood
        return character

    def _hexadecimal(self) -> str:
        if self._peek() == "{":
            end = self.pattern.find("}", self.at)
            if end < 0:
                raise _NotUnderstood
            digits, self.at = self.pattern[self.at + 1 : end], end + 1
        else:
            digits, self.at = self.pattern[self.at : self.at + 2], self.at + 2
        try:
            character = chr(int(digits, 16))
        except (ValueError, OverflowError):
            raise _NotUnderstood from None
        if "\ud800" <= character <= "\udfff":
            raise _NotUnderstood  # no text holds it, and it has no bytes in UTF-8
        return character

    def _skip_property(self, character: str) -> None:
        if character in "pP" and self._take() == "{":
            end = self.pattern.find("}", self.at)
            if end < 0:
                raise _NotUnderstood
            self.at = end + 1

    # ── sets ────────────────────────────────────────────────────────────────────────────────────

    def _class(self) -> Node:
        """A set in brackets; one that says "all but" holds every character outside ASCII."""
        negated = self._peek() == "^"
        self.at += negated
        members: set[int] | None = set()
        first = True
        while first or self._peek() != "]":
            first = False
            item = self._class_item()
            members = None if item is None or members is None else members | item
        self.at += 1
        return UNKNOWN if negated or members is None else self._folded_choice(frozenset(members))

    def _class_item(self) -> frozenset[int] | None:
        """One member, range or named set; None where it reaches beyond ASCII."""
        if self.pattern.startswith("[:", self.at):
            return self._named_set()
        if self._peek() == "\\" and self.pattern[self.at + 1 : self.at + 2] in tuple("dwsDWSpP"):
            self.at += 1
            character = self._take()
            self._skip_property(character)
            return _SETS.get(character)
        low = high = self._member()
        if self._peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
            self.at += 1
            high = self._member()
        if high >= 0x80:
            return None
        return frozenset(range(low, high + 1))

    def _member(self) -> int:
        character = self._take()
        if character == "":
            raise _NotUnderstood
        if character == "\\":
            escape = self._take()
            if escape == "Q":
                raise _NotUnderstood
            character = self._escaped(escape)
        return ord(character)

    def _named_set(self) -> frozenset[int] | None:
        end = self.pattern.find(":]", self.at)
        if end < 0:
            raise _NotUnderstood
        name, self.at = self.pattern[self.at + 2 : end], end + 2
        return _NAMED.get(name)

    def _folded_choice(self, members: frozenset[int]) -> Choice:
        if self.folded:
            both = {ord(spelled) for m in members for spelled in (chr(m).lower(), chr(m).upper())}
            return Choice(frozenset(both), True)
        return Choice(members)

    # ── groups ──────────────────────────────────────────────────────────────────────────────────

    def _group(self) -> Node | None:
        before = self.folded
        if self._peek() == "?" and self._group_header():
            return None  # (?i): flags for what follows in the group around it
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _NotUnderstood
        found = self.alternation()
        if self._take() != ")":
            raise _NotUnderstood
        self.depth -= 1
        self.folded = before
        return found

    def _group_header(self) -> bool:
        """Read `?:`, a name or flags; True where the group holds nothing but flags."""
        self.at += 1
        if self.pattern.startswith(("P<", "<"), self.at):
            end = self.pattern.find(">", self.at)
            if end < 0:
                raise _NotUnderstood
            self.at = end + 1
            return False
        on = True
        while (character := self._take()) not in (":", ")"):
            if character == "-" and on:
                on = False
            elif character == "i":
                self.folded = on
            elif character not in ("s", "m", "U"):
                raise _NotUnderstood
        return character == ")"

    # ── quantifiers ─────────────────────────────────────────────────────────────────────────────

    def _quantified(self, node: Node) -> Node:
        while (character := self._peek()) and character in "*+?{":
            low, high = self._bounds(character)
            if self._peek() == "?":
                self.at += 1
            node = Repeat(node, low, high)
        return node

    def _bounds(self, character: str) -> tuple[int, int | None]:
        if character != "{":
            self.at += 1
            return (1, None) if character == "+" else (0, None) if character == "*" else (0, 1)
        end = self.pattern.find("}", self.at)
        low, comma, high = (self.pattern[self.at + 1 : end] if end > 0 else "").partition(",")
        if not _is_count(low) or (high and not _is_count(high)):
            raise _NotUnderstood  # RE2 takes such a brace for a plain character
        self.at = end + 1
        return int(low), int(high) if high else None if comma else int(low)

    def _peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _take(self) -> str:
        character = self._peek()
        self.at += 1
        return character


def _is_count(text: str) -> bool:
    """Whether RE2 takes it for a number: other digits than those of ASCII are letters to it."""
    return text.isascii() and text.isdigit()


# ── literals ─────────────────────────────────────────────────────────────────────────────────────
# Literals that every match of a pattern must hold, and patterns that are one.
#
# A literal is found at 5 GB/s, a pattern without a literal prefix at 0.5 GB/s. The answer is a set:
# each match holds at least one of it. `None` means "no such set is known", which is always right. A
# character whose case does not count is not part of a literal.


_MOST: Final = 8  # alternatives; beyond it, several searches cost more than one
_SPACE_LOSS: Final = 0.75
"""How much less a space in a literal says than a letter."""


@dataclass
class _Run:
    """A run through one alternative: the literal being built, and the best one so far."""

    current: str = ""
    best: frozenset[str] = frozenset()

    def close(self) -> None:
        if self.current:
            self.offer(frozenset({self.current}))
        self.current = ""

    def offer(self, candidate: frozenset[str]) -> None:
        if _value(candidate) > _value(self.best):
            self.best = candidate


def _value(literals: frozenset[str]) -> float:
    if not literals:
        return -1.0
    return min(map(_weight, literals)) - 0.5 * len(literals)


def _weight(text: str) -> float:
    """How rare a literal is, about: `++` is much rarer than ` = `."""
    spaces = text.count(" ") + text.count("\t")
    return len(text) - _SPACE_LOSS * spaces


def required_literals(pattern: str) -> frozenset[bytes] | None:
    """Literals one of which is in every match of `pattern`, or None where none is known."""
    if is_plain_text(pattern):
        return frozenset({pattern.encode("ascii")})
    tree = tree_of(pattern)
    found = _required(tree) if tree else None
    if not found or len(found) > _MOST:
        return None
    return frozenset(text.encode("utf-8") for text in found)


def literal_prefix(pattern: str) -> str:
    """The literal that every match of `pattern` begins with; empty where there is none."""
    if is_plain_text(pattern):
        return pattern
    return "".join(map(_text, takewhile(_is_plain, _sequence(tree_of(pattern)))))


def literal_alternatives(pattern: str) -> list[str]:
    """The alternatives of a pattern that is nothing but literals; none of any other pattern."""
    if is_plain_text(pattern):
        return [pattern]
    tree = tree_of(pattern)
    texts = [_literal(part) for part in (tree.parts if isinstance(tree, Alt) else (tree,))]
    return texts if all(texts) else []


def _literal(node: Node | None) -> str:
    parts = _sequence(node)
    return "".join(map(_text, parts)) if all(map(_is_plain, parts)) else ""


def _text(node: Node) -> str:
    return node.text if isinstance(node, Char) else ""


def needs_newline(pattern: str) -> bool:
    """Whether every match of `pattern` holds a newline, so that no single line can match."""
    if is_plain_text(pattern):
        return False
    tree = tree_of(pattern)
    return tree is not None and _holds_newline(tree)


_NEWLINES: Final = (Char("\n"), Choice(frozenset(b"\n")))


def _holds_newline(node: Node) -> bool:
    if isinstance(node, Cat):
        return any(map(_holds_newline, node.parts))
    if isinstance(node, Alt):
        return all(map(_holds_newline, node.parts))
    if isinstance(node, Repeat):
        return node.low >= 1 and _holds_newline(node.part)
    return node in _NEWLINES


def _required(node: Node) -> frozenset[str]:
    if isinstance(node, Alt):
        branches = [_required(part) for part in node.parts]
        return frozenset().union(*branches) if all(branches) else frozenset()
    run = _Run()
    for part in _sequence(node):
        _add(run, part)
    run.close()
    return run.best


def _add(run: _Run, part: Node) -> None:
    if _is_plain(part):
        run.current += part.text
        return
    if isinstance(part, Repeat) and part.low >= 1:
        if _is_plain(part.part):
            run.current += part.part.text
        else:
            run.offer(_required(part.part))
    elif isinstance(part, (Cat, Alt)):
        run.offer(_required(part))
    if part != Edge("word"):
        run.close()


def _sequence(node: Node | None) -> tuple[Node, ...]:
    if node is None:
        return ()
    return node.parts if isinstance(node, Cat) else (node,)


def _is_plain(node: Node) -> TypeGuard[Char]:
    return isinstance(node, Char) and not node.folded
