"""Reads the first files of a ranking, and orders them by how the words occur in them.

BM25 counts words wherever they are in a file. Here the best twenty are read, as far as they were
ranked for (a piece of a large file), and these count:

    neighbours   question words that follow each other there too: "content length" as
                 `ContentLength`, `content_length`, "length of the content"
    together     how much of the question the best few lines have
    compounds    identifiers of the question that are used as a whole
    length       of two files that fit alike, the larger one has more of what is asked about

A text of very long lines is a bundle or data, one that says so in its first lines is generated:
both count less, whatever their names are.

The same code orders what the index, changed files and a scan have found, from texts as the disk has
them. How rare a word is, is taken from the twenty themselves: as good as the whole tree's figures,
and the same without an index. Words of the request ("fix", "properly") are not looked for: they
occur everywhere. Before the twenty are chosen, `evidence` adds what other files say for them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from flashgrep import limits
from flashgrep.ranking.evidence import supported
from flashgrep.ranking.question import (
    RankedFile,
    RankedQuestion,
    loose_forms,
    loose_patterns,
    rarity,
)
from flashgrep.ranking.words import parts
from flashgrep.search.pattern import NO_MATCH, UNANCHORED, compiled

FILES: Final = 20
"""Files that are read: with thirty NDCG@10 is no better, with fifteen it is 0.002 less."""

_NEIGHBOURS: Final = 2.0
_TOGETHER: Final = 2.5
_COMPOUNDS: Final = 1.0
_LENGTH: Final = 0.05
_SHORT_TEXT: Final = 100
"""Bytes; a shorter text counts as one of these."""
_REVERSED: Final = 0.5
"""What neighbours in the other order count."""
_ENOUGH: Final = 1.2
"""Neighbours that occur so often count half of what they can, as words do in BM25."""
_LEAST_RARITY: Final = 0.6
"""The weight of a word that all of the twenty have."""
HALF_BYTES: Final = 200
"""A stretch is two of these: a few lines. With 100 or 400 NDCG@10 is the same to 0.002."""
_GAP_BYTES: Final = 10
"""Between neighbours on a line: an ending, a sign, one short word."""
_SATING: Final = 60
"""So often a word is looked at in a text, and no more, because a match takes a microsecond: thirty
times lose 0.006 of NDCG, a thousand gain 0.001."""
_MOST_MARKS: Final = 1_000
"""Words that are looked at in a text: what it costs is bounded."""
_NO_WORD: Final = -1
_NOTHING: Final = r"[^\s\S]"

_LONG_LINE_BYTES: Final = 400
"""On the average: no one writes such lines."""
_SHAPE_BYTES: Final = 16 * limits.KIB
_HEAD_BYTES: Final = 1 * limits.KIB
_UNWRITTEN: Final = 0.4
_GENERATED: Final = re.compile(
    rb"@generated\b|\bdo not (?:edit|modify)\b|\bauto-?(?:matically )?generated (?:by|from|file)",
    re.IGNORECASE,
)

ReadPiece = Callable[[RankedFile], bytes | None]
"""The text that a file was ranked for; None if it has none now."""


def reranked(
    question: RankedQuestion, files: Sequence[RankedFile], read: ReadPiece
) -> list[RankedFile]:
    """The same files, the first twenty scored by how the words occur in them; best first."""
    reader = WordReader(question, question.telling_words)
    files = supported(question, files)
    seen = [_standing(reader, read(file) or b"") for file in files[:FILES]]
    rarities = _rarities(len(question.telling_words), seen)
    first = [
        file._replace(score=file.score * _factor(reader, standing, rarities))
        for file, standing in zip(files, seen, strict=False)
    ]
    ordered = sorted(first, key=lambda file: (-file.score, file.path))
    return _merged(ordered, files[FILES:])


def _merged(first: list[RankedFile], rest: Sequence[RankedFile]) -> list[RankedFile]:
    """All of them; what turned out to be unwritten may fall behind files that were not read."""
    if not rest or not first or first[-1].score >= rest[0].score:
        return [*first, *rest]
    return sorted([*first, *rest], key=lambda file: (-file.score, file.path))


@dataclass
class _Standing:
    """How the words of a question occur in a text."""

    size: int = 0
    is_unwritten: bool = False
    stretches: set[int] = field(default_factory=set)
    """The words of each stretch that has any, a bit a word."""
    pairs: Counter[tuple[int, int]] = field(default_factory=Counter)
    """Words that follow each other."""
    compounds: set[int] = field(default_factory=set)

    def has(self, number: int) -> bool:
        """Whether a word is anywhere in the text."""
        return any(stretch >> number & 1 for stretch in self.stretches)


class WordReader:
    """Finds the words of one question in texts, in any form and case, inside longer words too.

    All words are one expression of literals, so the matched bytes tell which word it was. What
    takes long is not the text but the matches, a microsecond each; so a word that was found often
    enough is left out of the expression for the rest of a text.
    """

    def __init__(self, question: RankedQuestion, words: Sequence[str]) -> None:
        numbers = {word: number for number, word in enumerate(words)}
        self._words: dict[bytes, tuple[int, ...]] = {}
        self._bodies: list[tuple[int, str]] = []
        for word in sorted(question.compounds, key=len, reverse=True):
            of = (numbers.get(part) for part in parts(word.encode()))
            self._words[word.encode()] = tuple(number for number in of if number is not None)
            self._bodies.append((_NO_WORD, re.escape(word)))
        self.compounds = {
            word.encode(): number for number, word in enumerate(question.compounds, len(words))
        }
        """The identifiers, as a whole; numbered after the words."""
        for word, number in numbers.items():
            self._bodies += [(number, body) for body in loose_patterns(word)]
            for form in loose_forms(word):
                self._words.setdefault(form.encode(), (number,))
        self._known: dict[bytes, tuple[tuple[int, ...], int | None]] = {}
        self._matchers: dict[frozenset[int], Any] = {}
        asked = [numbers[word] for word in question.all_words if word in numbers]
        self.pairs = {(a, b) for a, b in pairwise(asked) if a != b}

    def matches(
        self, text: bytes, most: int, sating: int = 0
    ) -> Iterator[tuple[int, int, tuple[int, ...], int | None]]:
        """Where something is found and ends, the words there, and which identifier it is.

        A word is found `sating` times at most.
        """
        at, known, size = 0, self._known, len(text)
        sated: frozenset[int] = frozenset()
        match = self._matcher(sated)
        counts: Counter[int] = Counter()
        for _ in range(most):
            start, at = match(UNANCHORED, text, at, size)[0]
            if start == NO_MATCH:
                return
            matched = text[start:at]
            found = known.get(matched) or self._learn(matched)
            whole = found[1]
            if whole is not None and not _is_whole(text, start, at):
                whole = None
            yield start, at, found[0], whole
            for number in found[0]:
                counts[number] += 1
                if counts[number] == sating:
                    sated |= {number}
                    match = self._matcher(sated)
            if matched.endswith(b"_") and at - 1 > start:
                at -= 1  # an underscore that ends a short word may begin the next

    def _matcher(self, sated: frozenset[int]) -> Any:
        """What finds the words but those; a compound is looked for to the end."""
        known = self._matchers.get(sated)
        if known is None:
            bodies = [body for number, body in self._bodies if number not in sated]
            known = compiled(f"(?i)(?:{'|'.join(bodies) or _NOTHING})").Match
            self._matchers[sated] = known
        return known

    def _learn(self, matched: bytes) -> tuple[tuple[int, ...], int | None]:
        """What some matched bytes are; the same bytes are asked about once."""
        lower = matched.lower()
        numbers = self._words.get(lower) or self._words.get(lower.strip(b"_"), ())
        found = self._known[matched] = numbers, self.compounds.get(lower)
        return found


def _standing(reader: WordReader, text: bytes) -> _Standing:
    """How the words occur in a text."""
    found = _Standing(len(text), _is_unwritten(text))
    half, here, before = 0, 0, 0
    last, last_end = _NO_WORD, 0
    for start, end, numbers, whole in reader.matches(text, _MOST_MARKS, _SATING):
        if whole is not None:
            found.compounds.add(whole)
        if start // HALF_BYTES != half:
            found.stretches.add(before | here)
            before = here if start // HALF_BYTES == half + 1 else 0
            half, here = start // HALF_BYTES, 0
        for number in numbers:
            if last not in (_NO_WORD, number) and _is_near(text, last_end, start):
                found.pairs[last, number] += 1
            here |= 1 << number
            last, last_end = number, end
    found.stretches.add(before | here)
    return found


def _is_near(text: bytes, end: int, start: int) -> bool:
    """Whether what ends here and what starts there are on one line, and close."""
    return start - end <= _GAP_BYTES and b"\n" not in text[end:start]


def _is_whole(text: bytes, start: int, end: int) -> bool:
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    return not any(one.isalnum() or one == b"_" for one in (before, after))


def _is_unwritten(text: bytes) -> bool:
    """Whether a program wrote this: by the length of its lines, or as its beginning says."""
    head = text[:_SHAPE_BYTES]
    has_long_lines = len(head) > _LONG_LINE_BYTES * (head.count(b"\n") + 1)
    return has_long_lines or _GENERATED.search(text, 0, _HEAD_BYTES) is not None


# ── scores ───────────────────────────────────────────────────────────────────────────────────────


def _rarities(words: int, seen: Sequence[_Standing]) -> list[float]:
    """How much each word says among the texts."""
    counts = [sum(standing.has(number) for standing in seen) for number in range(words)]
    return [_LEAST_RARITY + rarity(len(seen), count) for count in counts]


def _factor(reader: WordReader, standing: _Standing, rarities: list[float]) -> float:
    """What the score of a text is multiplied by."""
    whole = sum(rarities)
    neighbours = 0.0
    for a, b in reader.pairs:
        count = standing.pairs[a, b] + _REVERSED * standing.pairs[b, a]
        neighbours += (rarities[a] + rarities[b]) * count / (count + _ENOUGH)
    together = max(
        sum(value for number, value in enumerate(rarities) if stretch >> number & 1)
        for stretch in standing.stretches
    )
    used = len(standing.compounds) / max(1, len(reader.compounds))
    factor = 1 + (_NEIGHBOURS * neighbours + _TOGETHER * together) / whole + _COMPOUNDS * used
    length = math.pow(max(standing.size, _SHORT_TEXT) / _SHORT_TEXT, _LENGTH)
    return factor * length * (_UNWRITTEN if standing.is_unwritten else 1.0)
