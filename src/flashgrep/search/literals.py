r"""Finds literals that every match of a pattern must hold, so that most text is never matched.

A literal is found at 5 GB/s, a pattern without a literal prefix at 0.5 GB/s. The answer is a set:
each match holds at least one of it. `None` means "no such set is known", which is always right;
whatever this small parser does not understand for certain becomes None. Case folding is not
understood: `(?i)` anywhere gives None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_MOST: Final = 8  # alternatives; beyond it, several searches cost more than one
_PLAIN_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_STOPS: Final = frozenset("dDwWsSbBAzpPC")
_UNKNOWN: Final = frozenset("QE0123456789x")


class _NotUnderstood(Exception):
    """Raised where the pattern leaves the part of the syntax known here."""


@dataclass
class _Sequence:
    """A run through one alternative: the literal being built, and the best one so far."""

    current: str = ""
    best: frozenset[str] = frozenset()

    def extend(self, character: str) -> None:
        self.current += character

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
        found = _Parser(pattern).run()
    except _NotUnderstood:
        return None
    if not found or len(found) > _MOST or any(text == "" for text in found):
        return None
    return frozenset(text.encode("utf-8") for text in found)


def needs_newline(pattern: str) -> bool:
    """Whether every match of `pattern` holds a newline, so that no single line can match."""
    try:
        found = _Parser(pattern, only="\n").run()
    except _NotUnderstood:
        return False
    return bool(found) and all("\n" in text for text in found)


class _Parser:
    """Recursive descent over alternation, sequence, atom, quantifier; depth-bounded."""

    def __init__(self, pattern: str, only: str | None = None) -> None:
        self.pattern = pattern
        self.at = 0
        self.depth = 0
        self.only = only

    def run(self) -> frozenset[str]:
        found = self._alternation()
        if self.at != len(self.pattern):
            raise _NotUnderstood
        return found

    def _alternation(self) -> frozenset[str]:
        branches = [self._sequence()]
        while self._peek() == "|":
            self.at += 1
            branches.append(self._sequence())
        if not all(branches):
            return frozenset()
        return frozenset().union(*branches)

    def _sequence(self) -> frozenset[str]:
        run = _Sequence()
        while (character := self._peek()) not in ("", "|", ")"):
            literal, group = self._atom(character)
            least = self._quantifier()
            self._add(run, literal, group, least)
        run.close()
        return run.best

    def _add(self, run: _Sequence, literal: str, group: frozenset[str], least: int | None) -> None:
        if literal and (self.only is None or literal == self.only):
            if least is None:
                run.extend(literal)
                return
            if least >= 1:
                run.extend(literal)
        elif group and (least is None or least >= 1):
            run.offer(group)
        run.close()

    def _atom(self, character: str) -> tuple[str, frozenset[str]]:
        self.at += 1
        if character == "\\":
            return self._escape(), frozenset()
        if character == "[":
            self._skip_class()
            return "", frozenset()
        if character == "(":
            return "", self._group()
        if character in ".^$":
            return "", frozenset()
        if character in "*+?":
            raise _NotUnderstood
        return character, frozenset()

    def _escape(self) -> str:
        character = self._take()
        if character in _STOPS:
            if character in "pP":
                self._skip_property()
            return ""
        if character in _UNKNOWN or character == "":
            raise _NotUnderstood
        if character in _PLAIN_ESCAPES:
            return _PLAIN_ESCAPES[character]
        if character.isalnum():
            raise _NotUnderstood
        return character

    def _skip_property(self) -> None:
        if self._take() == "{":
            end = self.pattern.find("}", self.at)
            if end < 0:
                raise _NotUnderstood
            self.at = end + 1

    def _skip_class(self) -> None:
        if self._peek() == "^":
            self.at += 1
        if self._peek() == "]":
            self.at += 1
        while (character := self._take()) != "]":
            if character == "":
                raise _NotUnderstood
            if character == "\\" and self._take() in ("", "Q"):
                raise _NotUnderstood
            if character == "[" and self._peek() == ":":
                end = self.pattern.find(":]", self.at)
                self.at = end + 2 if end >= 0 else self.at

    def _group(self) -> frozenset[str]:
        if self._peek() == "?":
            self._group_header()
        self.depth += 1
        if self.depth > 50:
            raise _NotUnderstood
        found = self._alternation()
        if self._take() != ")":
            raise _NotUnderstood
        self.depth -= 1
        return found

    def _group_header(self) -> None:
        for header in ("?:", "?s:", "?m:", "?P<", "?<"):
            if self.pattern.startswith(header, self.at):
                self.at += len(header)
                if header.endswith("<"):
                    end = self.pattern.find(">", self.at)
                    if end < 0:
                        raise _NotUnderstood
                    self.at = end + 1
                return
        raise _NotUnderstood

    def _quantifier(self) -> int | None:
        """The least number of repetitions that a quantifier here asks for; None without one."""
        least: int | None = None
        while (character := self._peek()) and character in "*+?{":
            one = self._one_quantifier(character)
            if one is None:
                return least
            least = one if least is None else min(least, one)
        return least

    def _one_quantifier(self, character: str) -> int | None:
        if character == "{":
            return self._counted()
        self.at += 1
        if self._peek() == "?":
            self.at += 1
        return 1 if character == "+" else 0

    def _counted(self) -> int | None:
        end = self.pattern.find("}", self.at)
        body = self.pattern[self.at + 1 : end] if end > 0 else ""
        low, _, high = body.partition(",")
        if not low.isascii() or not low.isdigit() or (high and not high.isdigit()):
            raise _NotUnderstood  # RE2 takes such a brace for a plain character
        self.at = end + 1
        if self._peek() == "?":
            self.at += 1
        return int(low)

    def _peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _take(self) -> str:
        character = self._peek()
        self.at += 1
        return character
