"""Where names are defined: lines that look like definitions, and what parsing decides.

A guess by shape, one rule for all languages. A line counts that
- begins at the margin, or with a word such as `public`, and names something before a `(`;
- has a word such as `def` or `class` before the name;
- defines a macro with parameters.
A line with `;` is a declaration or a call and does not count. This reads 50 to 100 MB a second,
where tree-sitter parses about 3: `definitions` has the exact answer for the few files asked about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from flashgrep.ranking.languages import CPP, C, Language, grammar, is_prose, language_of
from flashgrep.search.pattern import NO_MATCH, UNANCHORED, compiled

if TYPE_CHECKING:
    import tree_sitter


Landmark = tuple[int, bytes]
"""Where its line begins, and the name."""

_MODIFIERS: Final = (
    r"(?:(?:pub(?:\([a-z]+\))?|public|private|protected|internal|static|final|abstract|async"
    r"|export|default|virtual|override|sealed|partial|unsafe|extern|const|inline|typedef)[ \t]+)"
)
_HEAD: Final = r"[A-Za-z_$][A-Za-z0-9_ \t*&<>,:.~$?\[\]]*\("
_ANYWHERE: Final = r"(?:def|func|fn|fun|function|class|interface|trait|module|namespace|impl|sub)"
_AT_MARGIN: Final = r"(?:struct|enum|union|record|type)"  # C declares variables by them, indented
_NAMED: Final = (
    rf"(?:[ \t]*{_MODIFIERS}*{_ANYWHERE}|{_MODIFIERS}*{_AT_MARGIN})[ \t]+(?:\([^()\n]*\)[ \t]*)?"
)
_MACRO: Final = r"[ \t]*#[ \t]*define[ \t]+[A-Za-z_][A-Za-z0-9_]*\("
_LINE: Final = rf"(?:{_NAMED}[A-Za-z_$]|{_HEAD}|[ \t]+{_MODIFIERS}+{_HEAD}|{_MACRO})"
"""The begin of such a line, as far as a regular expression tells; there is no newline in it."""
_BY_KEYWORD: Final = re.compile(_NAMED.encode() + rb"([\w$]+(?:(?:\.|::)[\w$]+)*)")
_FOLLOWED: Final = re.compile(
    rb"[ \t]*(?:[{(:<=|,\[]|\Z|\\|/[/*]|(?:extends|implements|for|where|with|final|is)\b)"
)
_ALIAS: Final = re.compile(rb"(?:export[ \t]+)?type[ \t]")
_TRAILING_NAME: Final = re.compile(rb"[\w$]+\Z")
_NOT_DEFINING: Final = frozenset(
    b"if for while switch return else elif elsif case throw new goto delete using import from in "
    b"not and or print echo do await yield raise assert typedef sizeof catch except with when "
    b"until unless foreach lock typeof instanceof puts require include export".split()
)


@cache
def _at_start() -> Any:
    return compiled(f"^{_LINE}").Match


@cache
def _behind_newline() -> Any:
    # RE2 looks for the newline by memchr; `(?m)^` it would ask for at every byte.
    return compiled(rf"\n{_LINE}").Match


def landmarks(buffer: Any, start: int, end: int) -> Iterator[Landmark]:
    """The landmarks among whole lines of a buffer that has `find` and slices to bytes."""
    match, newline = _behind_newline(), buffer.find
    begin, stop, line_end = _first_head(buffer, start, end)
    while True:
        if begin != NO_MATCH:
            line_end = newline(b"\n", stop, end)
            name = _name(buffer, begin, stop, end if line_end < 0 else line_end)
            if name:
                yield begin, name
        if line_end < 0:
            return
        begin, stop = match(UNANCHORED, buffer, line_end, end)[0]
        if begin == NO_MATCH:
            return
        begin += 1


def _first_head(buffer: Any, start: int, end: int) -> tuple[int, int, int]:
    """What the first line begins with, if it looks like a definition, and where it ends."""
    line_end = buffer.find(b"\n", start, end)
    with memoryview(buffer) as whole, whole[start : end if line_end < 0 else line_end] as line:
        begin, stop = _at_start()(UNANCHORED, line, 0, len(line))[0]
    return (NO_MATCH if begin == NO_MATCH else start), start + stop, line_end


def _name(buffer: Any, begin: int, stop: int, line_end: int) -> bytes:
    head = bytes(buffer[begin:stop])
    is_called = head.endswith(b"(")
    if is_called and head.lstrip().startswith(b"#"):
        return head[:-1].split()[-1]
    if buffer.find(b";", stop, line_end) >= 0:
        return b""
    if not is_called:
        line = bytes(buffer[begin:line_end])
        keyword = _BY_KEYWORD.match(line)
        if keyword and (_FOLLOWED.match(line, keyword.end()) or _ALIAS.match(line)):
            return keyword[1]
        # `struct x *f(…)` is a function, `struct x y = {` a variable.
        head = line.partition(b"(")[0] + b"(" if b"(" in line else b""
    return _before_parenthesis(head)


def _before_parenthesis(head: bytes) -> bytes:
    words = head[:-1].split()
    if len(words) < 2 or words[0] in _NOT_DEFINING or words[-1] in _NOT_DEFINING:
        return b""
    found = _TRAILING_NAME.search(words[-1])
    return b"" if found is None else found[0]


# ── symbols ──────────────────────────────────────────────────────────────────────────────────────
# Where a name is defined: candidates by the shape of a line, decided by parsing.
#
# Parsing a tree takes minutes (about 3 MB a second), so every line that names a symbol is looked at
# first, and only files with one that could define it are parsed. `Shapes` grades lines: a
# definition by its keyword, by its place, or what looks the same as a use: constants in an enum,
# fields. What a parser does not understand, as a function behind unknown macros, is found by
# `landmarks`, and so are languages without a grammar.
#
# Of a large file in C, whose definitions stand at the margin, only the surroundings of such lines
# are parsed.


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
            # methods: types before the name, or nothing but a body behind
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
            # What a parser may miss is a function behind macros; of types it knows better.
            if not is_parsed or kind in ("function", "macro"):
                found[line] = Defined(line, kind, signature)
    return found


def _kind_by_shape(signature: str) -> str:
    for kind in ("class", "struct", "enum", "union", "interface", "trait", "module", "namespace"):
        if re.search(rf"\b{kind}\b", signature.partition("(")[0]):
            return "interface" if kind == "trait" else kind
    return "macro" if signature.startswith("#") else "function"
