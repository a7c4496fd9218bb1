"""Where a name is defined: candidates by the shape of a line, decided by parsing.

Parsing a tree takes minutes (about 3 MB a second), so every line that names a symbol is checked
first, and only files with a line that could define it are parsed. `Shapes` grades lines: a
definition by its keyword, by its place, or what looks the same as a use: constants in an enum,
fields. What a parser does not understand, as a function after unknown macros, is found by
`landmarks`, and so are languages without a grammar.

In a large C file, where definitions start at the margin, only the surroundings of such lines are
parsed.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from flashgrep import limits
from flashgrep.errors import Cancelled
from flashgrep.ranking.languages import CPP, C, Language, grammar, is_prose, language_of
from flashgrep.ranking.words import landmarks
from flashgrep.system.child import Child, ChildDied, serve

if TYPE_CHECKING:
    import tree_sitter

    from flashgrep.search.scan.fair_queue import CancelFlag

log = logging.getLogger(__name__)

_SIGNATURE_CHARS: Final = 200
_LINE_CHARS: Final = 2_000
_PART_BYTES: Final = 64 * 1024
_MOST_PARTS: Final = 8
_MARGIN: Final = re.compile(rb"\n\n(?=[A-Za-z_])")
_SPACES: Final = re.compile(r"\s+")
_NAMING: Final = "def|func|fn|fun|function|sub|macro_rules!"
_TYPING: Final = (
    "struct|enum|union|class|interface|trait|record|namespace|module|mod|impl|type|concept|package"
)
_QUALIFYING: Final = (
    "const|let|var|val|static|public|private|protected|internal|export|pub|readonly|abstract|async"
    "|declare|final|using|alias|case|delegate|local|typeset|virtual|override|extern"
)
_CONTINUING: Final = "extends|implements|for|where|final|is|struct|interface|func|map"
_USING: Final = "return|else|new|await|throw|yield|in|not|and|or|goto|raise|print|echo"


POSSIBLE: Final = 2


class Defined(NamedTuple):
    """A definition in a file: line from 1, what it is, and how it begins."""

    line: int
    kind: str
    signature: str


def word_pattern(name: str) -> str:
    r"""A regular expression for a name as a whole word: `\b` where it ends in a word character."""
    before = r"\b" if _is_word(name[0]) else ""
    after = r"\b" if _is_word(name[-1]) else ""
    return before + re.escape(name) + after


def _is_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


class Shapes:
    """The shapes of lines that could define one name, the most certain first."""

    def __init__(self, name: str) -> None:
        word = word_pattern(name)
        outer = r"(?:\w+(?:::|\.))*"
        certain = (
            rf"[ \t]*#[ \t]*define[ \t]+{word}",
            rf"(?:typedef\b|\}}).*{word}[ \t]*[;,)\[]",
            rf"[ \t]*(?:\w+[ \t]+)*(?:{_NAMING})[ \t]+(?:\([^)]*\)[ \t]*)?{outer}{word}",
            rf"[ \t]*(?:\w+[ \t]+)*(?:{_TYPING})[ \t]+{outer}{word}[ \t]*"
            rf"(?:[^*&\w \t;,)]|$|(?:{_CONTINUING})\b)",
        )
        likely = (
            # at the margin: the name before `(`, or before what begins a body or a value
            rf"(?:[A-Za-z_@$][^;(=]*?)?{word}[ \t]*(?:\([^;]*$|[{{=\[:<]|$)",
            rf"[ \t]*(?:{_QUALIFYING})\b[^=;{{(]*{word}[ \t]*(?:[({{=:<;,\[]|$)",
            # methods: types before the name, or nothing but a body after it
            rf"[ \t]+(?!(?:{_USING})\b)(?:[\w:<>,*&\[\]?.]+[ \t*&]+){{1,8}}{word}[ \t]*\([^;]*$",
            rf"[ \t]+(?:get[ \t]+|set[ \t]+|\*[ \t]*)?{word}[ \t]*\([^;]*\{{[ \t]*$",
            rf"[ \t]*{word}[ \t]*(?:=|:)[ \t]*(?:async\b|function\b|\()",
        )
        possible = (
            rf"[ \t]+{word}[ \t]*(?:;|[=:{{][^=].*|\([^;]*)?,?[ \t]*(?:/[/*].*)?$",
            rf"[^;(]*\b(?:{_TYPING})\b[^;(]*\{{.*{word}",
        )
        self._grades = [re.compile("|".join(shapes)) for shapes in (certain, likely, possible)]

    def grade(self, line: str) -> int | None:
        """How much a line looks like a definition: 0 most, `POSSIBLE` as much as like a use."""
        cut = line[:_LINE_CHARS]
        return next((at for at, shape in enumerate(self._grades) if shape.match(cut)), None)


def definitions_in(path: str, text: bytes, name: str, lines: Sequence[int]) -> list[Defined]:
    """The definitions of a name in a file, in order; `lines` (from 1) are those that name it."""
    wanted = name.encode("utf-8", "surrogatepass")
    language = language_of(path, text)
    found: dict[int, Defined] = {}
    if language is not None:
        for first, part in _parts(language, text, lines):
            found.update(_parsed(language, part, wanted, first))
        if not found and len(text) > _PART_BYTES:
            found = _parsed(language, text, wanted, 0)  # a body longer than a part
    if not found and (language is not None or not is_prose(path)):
        found = _by_shape(text, wanted, is_parsed=language is not None)
    return [found[line] for line in sorted(found)]


def _parts(language: Language, text: bytes, lines: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """What has to be parsed: each part and the 0-based number of its first line."""
    if len(text) <= _PART_BYTES or language not in (C, CPP) or len(lines) > _MOST_PARTS:
        yield 0, text
        return
    starts = [0, *(found.end() for found in re.finditer(b"\n", text))]
    end = 0
    for line in lines:
        place = starts[min(line, len(starts)) - 1]
        if place < end:
            continue  # in the part before
        # A blank line before something at the margin is where a definition may begin.
        start = max((found.end() for found in _MARGIN.finditer(text, *_around(place))), default=0)
        start = start or max(0, place - _PART_BYTES // 2)
        end = text.find(b"\n\n", place + _PART_BYTES // 4)
        end = len(text) if end < 0 else min(end + 1, place + _PART_BYTES)
        yield text.count(b"\n", 0, start), text[start:end]


def _around(place: int) -> tuple[int, int]:
    return max(0, place - _PART_BYTES // 2), max(0, place - _PART_BYTES // 4)


def _parsed(language: Language, text: bytes, wanted: bytes, first: int) -> dict[int, Defined]:
    import tree_sitter

    parser, query = grammar(language)
    tree = parser.parse(text)
    found: dict[int, Defined] = {}
    for _, captures in tree_sitter.QueryCursor(query).matches(tree.root_node):
        for name in captures.get("name", ()):
            if name.text == wanted:
                kind = next(key for key in captures if key != "name").partition(".")[2]
                node = captures[f"definition.{kind}"][0]
                line = first + name.start_point.row + 1
                one = Defined(line, _kind(kind, node), _signature(text, node))
                if line not in found or found[line].kind == "variable":
                    found[line] = one  # `const f = () => …` is a function that is a variable too
    return found


def _kind(kind: str, node: tree_sitter.Node) -> str:
    """A function in a class is a method, in languages whose grammar does not say so."""
    if kind != "function":
        return kind
    above = node.parent
    while above is not None and above.type in ("block", "decorated_definition", "declaration_list"):
        above = above.parent
    is_inside = above is not None and above.type in ("class_definition", "impl_item", "trait_item")
    return "method" if is_inside else kind


def _signature(text: bytes, node: tree_sitter.Node) -> str:
    """A definition up to its body, on one line."""
    body = node.child_by_field_name("body") or node.child_by_field_name("value")
    end = body.start_byte if body is not None else node.end_byte
    raw = text[node.start_byte : max(end, node.start_byte + 1)][: 4 * _SIGNATURE_CHARS]
    line = _SPACES.sub(" ", raw.decode("utf-8", "replace")).strip().rstrip("{=:").rstrip()
    return line[:_SIGNATURE_CHARS]


def _by_shape(text: bytes, wanted: bytes, is_parsed: bool) -> dict[int, Defined]:
    found: dict[int, Defined] = {}
    for start, name in landmarks(text, 0, len(text)):
        if re.split(rb"::|\.", name)[-1] == wanted:
            line = text.count(b"\n", 0, start) + 1
            end = text.find(b"\n", start)
            raw = text[start : end if end >= 0 else len(text)].decode("utf-8", "replace")
            signature = raw.strip().rstrip("{").rstrip()[:_SIGNATURE_CHARS]
            kind = _kind_by_shape(signature)
            # What a parser may miss is a function after macros; types it knows better.
            if not is_parsed or kind in ("function", "macro"):
                found[line] = Defined(line, kind, signature)
    return found


def _kind_by_shape(signature: str) -> str:
    for kind in ("class", "struct", "enum", "union", "interface", "trait", "module", "namespace"):
        if re.search(rf"\b{kind}\b", signature.partition("(")[0]):
            return "interface" if kind == "trait" else kind
    return "macro" if signature.startswith("#") else "function"


# ── the process that parses ──────────────────────────────────────────────────────────────────────
# A parser is a large machine fed with whatever a file holds. It must not take the server down, hold
# its interpreter's lock for a tenth of a second, or run on after a call was cancelled. So the first
# question starts a process, which is kept. One that dies or takes too long is replaced, and the
# file it was at counts as not parsed.


_MODULE: Final = "flashgrep.ranking.symbols"
_START_SECONDS: Final = 10.0


class NotParsed(Exception):
    """A file that could not be parsed."""


class SymbolParser:
    """Finds definitions by parsing, one file at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: Child | None = None

    def definitions(
        self, path: str, text: bytes, name: str, lines: Sequence[int], cancelled: CancelFlag
    ) -> list[Defined]:
        """The definitions of a name in a file's text; `NotParsed` where that cannot be said."""
        job = (path, text, name, list(lines))
        with self._lock:
            was_idle = self._worker is not None
            try:
                try:
                    return self._parsed(job, cancelled)
                except ChildDied:
                    if not was_idle:
                        raise
                    return self._parsed(job, cancelled)  # it was dead before it was asked
            except (ChildDied, NotParsed, OSError) as error:
                log.warning("%s could not be parsed", path)
                raise NotParsed from error

    def _parsed(self, job: tuple[Any, ...], cancelled: CancelFlag) -> list[Defined]:
        seconds = limits.SYMBOL_SECONDS + (_START_SECONDS if self._worker is None else 0)
        worker = self._worker = self._worker or Child(_MODULE)
        try:
            worker.send(job)
            answer = _answer(worker, cancelled, time.monotonic() + seconds)
        except (ChildDied, NotParsed, Cancelled):
            self._worker = None
            worker.stop(kill=True)
            raise
        return [Defined(*found) for found in answer]

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._worker is not None:
                self._worker.stop(kill=True)
                self._worker = None


def _answer(worker: Child, cancelled: CancelFlag, deadline: float) -> Definitions:
    answer = worker.receive_unless(lambda: bool(cancelled) or time.monotonic() > deadline)
    if answer is None and cancelled:
        raise Cancelled("The search was cancelled")
    if answer is None or answer[0] != "parsed":
        raise NotParsed
    found: Definitions = answer[1]
    return found


Definitions = list[tuple[int, str, str]]
"""Line, kind and signature of each."""


def _definitions(message: tuple[str, bytes, str, list[int]]) -> tuple[str, Definitions]:
    return "parsed", [(*found,) for found in definitions_in(*message)]


def main() -> None:
    """Parse for the server until it is gone."""
    serve(_definitions)


if __name__ == "__main__":
    main()
