r"""Literals that every match of a pattern must hold, and patterns that are one.

A literal is found at 5 GB/s, a pattern without a literal prefix at 0.5 GB/s. The answer is a set:
each match holds at least one of it. `None` means "no such set is known", which is always right.
A character whose case does not count is no part of a literal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from flashgrep import limits
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.syntax import (
    Alt,
    Cat,
    Char,
    Choice,
    Edge,
    Node,
    PatternNotUnderstood,
    Repeat,
    parse,
)

DENSE_BYTES: Final = 6 * limits.KIB
_DENSE_BYTE_BYTES: Final = 2 * limits.KIB
"""A matching line in each so many bytes: then lines of a literal are counted in one go. A single
byte has its own figure, for RE2 looks for that one faster."""

_MOST: Final = 8  # alternatives; beyond it, several searches cost more than one


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
    return min(len(text) for text in literals) - 0.5 * len(literals)


def required_literals(pattern: str) -> frozenset[bytes] | None:
    """Literals one of which stands in every match of `pattern`, or None where none is known."""
    try:
        found = _required(parse(pattern))
    except PatternNotUnderstood:
        return None
    if not found or len(found) > _MOST:
        return None
    return frozenset(text.encode("utf-8") for text in found)


def is_literal(pattern: str) -> bool:
    """Whether a pattern is nothing but characters that stand for themselves."""
    try:
        tree = parse(pattern)
    except PatternNotUnderstood:
        return False
    parts = tree.parts if isinstance(tree, Cat) else (tree,)
    return all(isinstance(part, Char) and not part.folded for part in parts)


def literal_prefix(pattern: str) -> str:
    """The literal that every match of `pattern` begins with; empty where there is none."""
    try:
        tree = parse(pattern)
    except PatternNotUnderstood:
        return ""
    prefix = ""
    for part in tree.parts if isinstance(tree, Cat) else (tree,):
        if not isinstance(part, Char) or part.folded:
            break
        prefix += part.text
    return prefix


def literal_alternatives(pattern: str) -> list[str]:
    """The alternatives of a pattern that is nothing but literals; none of any other pattern."""
    try:
        tree = parse(pattern)
    except PatternNotUnderstood:
        return []
    texts = [_literal(part) for part in (tree.parts if isinstance(tree, Alt) else (tree,))]
    return [text for text in texts if text] if all(texts) else []


def _literal(node: Node) -> str:
    parts = node.parts if isinstance(node, Cat) else (node,)
    if all(isinstance(part, Char) and not part.folded for part in parts):
        return "".join(map(_text, parts))
    return ""


def needs_newline(pattern: str) -> bool:
    """Whether every match of `pattern` holds a newline, so that no single line can match."""
    try:
        return _holds_newline(parse(pattern))
    except PatternNotUnderstood:
        return False


def _holds_newline(node: Node) -> bool:
    if isinstance(node, Cat):
        return any(_holds_newline(part) for part in node.parts)
    if isinstance(node, Alt):
        return all(_holds_newline(part) for part in node.parts)
    if isinstance(node, Repeat):
        return node.low >= 1 and _holds_newline(node.part)
    return node in (Char("\n"), Choice(frozenset(b"\n")))


def _required(node: Node) -> frozenset[str]:
    if isinstance(node, Alt):
        branches = [_required(part) for part in node.parts]
        return frozenset().union(*branches) if all(branches) else frozenset()
    run = _Run()
    for part in node.parts if isinstance(node, Cat) else (node,):
        _add(run, part)
    run.close()
    return run.best


def _add(run: _Run, part: Node) -> None:
    if isinstance(part, Char) and not part.folded:
        run.current += part.text
        return
    if isinstance(part, Repeat) and part.low >= 1 and part.part == Char(_text(part.part)):
        run.current += _text(part.part)
    elif isinstance(part, Repeat) and part.low >= 1:
        run.offer(_required(part.part))
    elif isinstance(part, (Cat, Alt)):
        run.offer(_required(part))
    if not isinstance(part, Edge) or part.kind != "word":
        run.close()


def _text(node: Node) -> str:
    return node.text if isinstance(node, Char) else ""


# ── literals between word boundaries ─────────────────────────────────────────────────────────────
# Patterns that are a literal with a word's border on either side or none: `if`, `e\b`.
#
# Told by their text and without numpy, so that a process that searches need not load it to know.


_PLAIN: Final = re.compile(r"(\\b)?([\w ,;:=<>!@#%&~'\"/-]+)(\\b)?", re.ASCII)
"""Characters that stand for themselves; more would have to be told from operators."""


class BorderedLiteral(NamedTuple):
    """The literal, and on which sides a word has to end."""

    text: bytes
    before: bool
    after: bool

    def is_dense(self, count: int, size: int) -> bool:
        """Whether so many matching lines in so many bytes are better counted in one go."""
        worth = DENSE_BYTES if len(self.text) > 1 else _DENSE_BYTE_BYTES
        return size < worth * count


@lru_cache(64)
def bordered_literal(spec: PatternSpec) -> BorderedLiteral | None:
    """The literal of a pattern that is one; None for any other."""
    found = None if spec.multiline or spec.case_insensitive else _PLAIN.fullmatch(spec.source)
    if found is None:
        return None
    return BorderedLiteral(found[2].encode("ascii"), found[1] is not None, found[3] is not None)
