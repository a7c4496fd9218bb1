"""The links of a note in every form that Obsidian and Markdown know, and the note each means.

    [[N]]  [[N|alias]]  [[N\\|alias]] in tables  [[N#H1#H2]]  [[N#^block]]  [[#H]]  ![[N|100x50]]
    [t](path.md)  [t](<a b.md>)  [t](a%20b.md#h "title")  [t](a\\(b\\).md)  ![alt](img.png)
    [t][label]  [label][]  [label]  with `[label]: path.md` anywhere
    "[[N]]" as a whole quoted string in frontmatter

None is in code, in mathematics, or in a comment, be it `<!-- -->` or Obsidian's `%% %%`.
Addresses with a scheme lead out of the notes and are left out, as are footnotes.

Lines and offsets are those of the accepted view, what `read` shows. A link that only one view has
is pending: to be added if the accepted view has it, to be removed if only the base view has. One
that an edit retyped, the same in the deletion and in the insertion, is not pending.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple
from urllib.parse import unquote

from flashgrep import limits
from flashgrep.notes.markup import literal
from flashgrep.notes.markup.critic import ParsedMarkup
from flashgrep.notes.markup.literal import Literal


class Form(StrEnum):
    """How a link is written."""

    WIKI = "wiki"
    MARKDOWN = "markdown"
    REFERENCE = "reference"
    FRONTMATTER = "frontmatter"


class LinkChange(StrEnum):
    """What a pending suggestion does to a link."""

    NONE = ""
    ADD = "add"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Link:
    """One link of a note."""

    target: str
    """The path as written, escapes and percent signs decoded; empty for the note itself."""
    anchor: str
    """The heading, or `^` and a block's name; empty without."""
    label: str
    """What is shown instead of the target; empty without."""
    form: Form
    is_embed: bool
    source: str
    """The whole link as it is written."""
    start: int
    line: int
    pending: LinkChange = LinkChange.NONE


class Place(NamedTuple):
    """Where a link has its path, as it is written there."""

    start: int
    end: int
    is_angled: bool = False
    """Between < and >."""


def links_of(reading: ParsedMarkup) -> tuple[Link, ...]:
    """The links of a note from top to bottom, pending ones marked."""
    accepted = parse(reading.accepted.text)
    if not reading.marks or reading.base.text == reading.accepted.text:
        return tuple(accepted)
    base = parse(reading.base.text)
    placed = {(reading.base.start_of(link.start), link.source) for link in base}
    kept = {(reading.accepted.start_of(link.start), link.source) for link in accepted} & placed
    gone = [link for link in base if (reading.base.start_of(link.start), link.source) not in kept]
    retyped = Counter(link.source for link in gone)
    found = []
    for link in accepted:
        is_new = (reading.accepted.start_of(link.start), link.source) not in kept
        if is_new and retyped[link.source]:
            retyped[link.source] -= 1
            is_new = False
        found.append(replace(link, pending=LinkChange.ADD) if is_new else link)
    found += _removed(reading, gone, retyped)
    return tuple(sorted(found, key=lambda link: (link.start, link.pending)))


def _removed(reading: ParsedMarkup, gone: Iterable[Link], left: Counter[str]) -> Iterator[Link]:
    """The links only the base view has, where they would be in the accepted view."""
    for link in gone:
        if not left[link.source]:
            continue
        left[link.source] -= 1
        place = reading.accepted.to_view(reading.base.start_of(link.start))
        line = reading.accepted.line(place)
        yield replace(link, start=place, line=line, pending=LinkChange.REMOVE)


def parse(text: str) -> list[Link]:
    """The links of a plain text, from top to bottom."""
    return [link for link, _ in placed(text)]


def placed(text: str) -> list[tuple[Link, Place]]:
    """The same with where each has its path; that of a reference is in its definition."""
    if "[" not in text:
        return []
    scan = _LinkScan(text)
    found = sorted(scan.links(), key=lambda link: link.start)
    return [(link, scan.places[link.start]) for link in found]


# ── reading ─────────────────────────────────────────────────────────────────────────────────────

_CHARS: Final = limits.LINK_CHARS
_WIKI: Final = re.compile(rf"!?\[\[([^\[\]\n]{{1,{_CHARS}}}+)\]\]")
_PROPERTY: Final = re.compile(rf"([\"'])[ ]*+(!?\[\[[^\[\]\n\"]{{1,{_CHARS}}}+\]\])[ ]*+\1")
_DESTINATION: Final = (
    r"(?:<(?P<angled>(?:[^<>\\\n]|\\[^\n])*+)>"
    r"|(?P<bare>(?:[^\s()\\<]|\\[^\s]|\((?:[^\s()\\]|\\[^\s])*+\))(?:[^\s()\\]|\\[^\s]"
    r"|\((?:[^\s()\\]|\\[^\s])*+\))*+))"
)
_TITLE: Final = r"(?:\s++(?:\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)))?+"
_INLINE: Final = re.compile(r"\(\s*+" + _DESTINATION + _TITLE + r"\s*+\)")
_LABEL: Final = re.compile(r"\[((?:[^\[\]\\]|\\.){0,999}+)\]")
_DEFINITION: Final = re.compile(
    r"^[ ]{0,3}\[(?P<label>(?:[^\[\]\\\n^]|\\.)(?:[^\[\]\\\n]|\\.){0,999}+)\]:[ \t]*+\n?[ \t]*+"
    + _DESTINATION
    + _TITLE.replace(r"\s++", r"[ \t]++")
    + r"[ \t]*+$",
    re.MULTILINE,
)
_TOKEN: Final = re.compile(r"\\.|!?\[|\]", re.DOTALL)
_BLANK_LINE: Final = re.compile(r"\n[ \t]*+\n")
_REMARK: Final = re.compile(r"%%[\s\S]*?%%")
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:|//")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_SPACES: Final = re.compile(r"\s+")


class _LinkScan:
    def __init__(self, text: str) -> None:
        self._text = text
        zones = literal.zones(text)
        self._frontmatter = [zone for zone in zones if zone.kind is Literal.FRONTMATTER]
        self._dead: list[tuple[int, int]] = [(zone.start, zone.end) for zone in zones]
        if "%%" in text:
            self._bury(_REMARK)
        definitions = self._bury(_DEFINITION) if "]:" in text else []
        self._targets = {
            _folded(found["label"]): (_destination(found), _place(found))
            for found in reversed(definitions)
        }
        self.places: dict[int, Place] = {}
        """Where the links have their paths, by where they begin."""
        self._openers: list[re.Match[str]] = []
        self._last_bracket = 0
        self._inside = 0
        """Brackets opened before this place hold a link already, and so are none themselves."""

    def _bury(self, pattern: re.Pattern[str]) -> list[re.Match[str]]:
        """Find matches outside dead stretches, and make them dead too."""
        found = []
        at = 0
        while match := pattern.search(self._text, at):
            dead = self._dead_at(match.start())
            if dead:
                at = dead
                continue
            found.append(match)
            at = match.end()
        self._dead = _united(self._dead + [match.span() for match in found])
        return found

    def _dead_at(self, place: int) -> int:
        """Where the dead stretch around a place ends; 0 if there is none."""
        index = bisect_right(self._dead, place, key=lambda span: span[0]) - 1
        end = self._dead[index][1] if index >= 0 else 0
        return end if end > place else 0

    def links(self) -> Iterator[Link]:
        """All links, an outer one after those inside it."""
        for zone in self._frontmatter:
            yield from self._properties(zone.end)
        at = seen = 0
        while token := _TOKEN.search(self._text, at):
            dead = self._dead_at(token.start())
            at = dead or token.end()
            if dead or token[0][0] == "\\":
                continue
            if _BLANK_LINE.search(self._text, seen, token.start()):
                self._openers.clear()  # a link does not reach into the next paragraph
            seen = token.end()
            link, at = self._closing(token) if token[0] == "]" else self._opening(token)
            if link:
                yield link

    def _opening(self, token: re.Match[str]) -> tuple[Link | None, int]:
        """A wikilink, or the beginning of another link; and where to continue."""
        wiki = _WIKI.match(self._text, token.start())
        if wiki:
            return self._wiki(wiki[0], wiki.start(), Form.WIKI), wiki.end()
        self._openers.append(token)
        self._last_bracket = token.end()
        return None, token.end()

    def _closing(self, token: re.Match[str]) -> tuple[Link | None, int]:
        """The link that a closing bracket belongs to; and where to continue."""
        is_flat = bool(self._openers) and self._openers[-1].end() == self._last_bracket
        self._last_bracket = token.end()
        if not self._openers:
            return None, token.end()
        opener = self._openers.pop()
        is_embed = opener[0].startswith("!")
        if not is_embed and opener.start() < self._inside:
            return None, token.end()
        link, end = self._closed(opener, token.end(), is_flat)
        if link and not is_embed:
            self._inside = opener.start()
        return (None if link and is_address(link.target) else link), end

    @cached_property
    def _newlines(self) -> list[int]:
        return [newline.start() for newline in re.finditer("\n", self._text)]

    def _line(self, place: int) -> int:
        return bisect_right(self._newlines, place - 1) + 1

    def _properties(self, end: int) -> Iterator[Link]:
        for found in _PROPERTY.finditer(self._text, 0, end):
            link = self._wiki(found[2], found.start(2), Form.FRONTMATTER)
            if link:
                yield link

    def _wiki(self, source: str, start: int, form: Form) -> Link | None:
        inner, divider, label = source.removeprefix("!")[2:-2].partition("|")
        if divider:
            inner = inner.removesuffix("\\")
        target, _, anchor = (part.strip() for part in inner.partition("#"))
        if not target and not anchor:
            return None
        embed = source.startswith("!")
        written = inner.partition("#")[0]
        at = start + source.index("[[") + 2 + len(written) - len(written.lstrip())
        self.places[start] = Place(at, at + len(target))
        return Link(
            target=target,
            anchor=anchor,
            label=label.strip(),
            form=form,
            is_embed=embed,
            source=source,
            start=start,
            line=self._line(start),
        )

    def _closed(self, opener: re.Match[str], end: int, is_flat: bool) -> tuple[Link | None, int]:
        """The link that ends with a closing bracket, or with what follows it; and where.

        Only a text without brackets, a flat one, can be the label of a reference itself.
        """
        inline = _INLINE.match(self._text, end, end + 2 * _CHARS)
        if inline:
            target = _destination(inline), _place(inline)
            return self._link(opener, end, inline.end(), target, Form.MARKDOWN), inline.end()
        if not self._targets:
            return None, end
        reference = _LABEL.match(self._text, end)
        name = reference[1] if reference else ""
        if not name and is_flat and end - opener.end() < _CHARS:
            name = self._text[opener.end() : end - 1]
        known = self._targets.get(_folded(name))
        if known is None:
            return None, end
        stop = reference.end() if reference else end
        return self._link(opener, end, stop, known, Form.REFERENCE), stop

    def _link(
        self, opener: re.Match[str], close: int, end: int, target: tuple[str, Place], form: Form
    ) -> Link | None:
        path, _, anchor = target[0].partition("#")
        if not path and not anchor:
            return None
        start = opener.start()
        self.places[start] = target[1]
        return Link(
            target=path if is_address(path) else unquote(path),
            anchor=unquote(anchor),
            label=self._text[opener.end() : close - 1],
            form=form,
            is_embed=opener[0].startswith("!"),
            source=self._text[start:end],
            start=start,
            line=self._line(start),
        )


def is_address(target: str) -> bool:
    """Whether a target leads out of the notes: it has a scheme, or a host."""
    return _SCHEME.match(target) is not None


def _destination(found: re.Match[str]) -> str:
    written = found["angled"] if found["angled"] is not None else found["bare"]
    return _ESCAPE.sub(r"\1", written)


def _place(found: re.Match[str]) -> Place:
    """Where a destination has its path: before the heading, if it has one."""
    group = "bare" if found["angled"] is None else "angled"
    path, hash_sign, _ = found[group].partition("#")
    if hash_sign and (len(path) - len(path.rstrip("\\"))) % 2:
        path = path[:-1]  # the sign is escaped, and ends the path nevertheless
    start = found.start(group)
    return Place(start, start + len(path), group == "angled")


def _folded(label: str) -> str:
    """A reference's label as it is compared."""
    return _SPACES.sub(" ", label.strip()).casefold()


def _united(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    united: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if united and start <= united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], end))
        else:
            united.append((start, end))
    return united


# ── resolve ──────────────────────────────────────────────────────────────────────────────────────
# Which note a link means: Obsidian's order, over all paths of a knowledge base.
#
# Names compare without regard to case, in NFC, with no-break spaces as spaces. For a link's path,
# as written and then with `.md`:
#
#     1. empty            the note itself
#     2. ./x  ../x        that very path from the note's folder; if there is none, x as below
#     3. /x               that very path from the root, or nothing
#     4. x                that very path from the root
#     5. x                the paths that end with it: those below the note's folder first, then the
#                         others, each the shortest first, and by name where they are as long
#
# The first one is meant; a link is never ambiguous. Aliases in frontmatter do not count.


SUFFIX: Final = ".md"
_NO_BREAK: Final = str.maketrans({"\u00a0": " ", "\u202f": " "})
_SLASHES: Final = re.compile("/{2,}")
_CLIMB: Final = re.compile(r"(?:\.{1,2}/)+")


def key(path: str) -> str:
    """A path as it is compared."""
    if path.isascii():
        return path.strip().lower()
    composed = unicodedata.normalize("NFC", path.translate(_NO_BREAK).strip())
    return unicodedata.normalize("NFC", composed.lower())


def name_of(target: str) -> str:
    """The last part of a link's path, as it is compared: only notes called so can be meant."""
    return key(target).rpartition("/")[2]


def names_for(path: str) -> set[str]:
    """What `name_of` gives for the links that can mean a path."""
    name = name_of(path)
    return {name, name.removesuffix(SUFFIX)}


def looked_up(names: Iterable[str]) -> set[str]:
    """The names of notes and attachments that links of these names can mean."""
    found: set[str] = set()
    for name in names:
        found |= {name, name + SUFFIX, name.removesuffix(SUFFIX)}
    return found


class Paths:
    """All paths of a knowledge base, to find a link's target in."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._named: dict[str, list[tuple[str, str]]] = {}
        """By name: the keys and paths of the notes called so, sorted."""
        for path in paths:
            self.add(path)

    def __iter__(self) -> Iterator[str]:
        return (path for named in self._named.values() for _, path in named)

    def __contains__(self, path: str) -> bool:
        compared = key(path)
        return (compared, path) in self._named.get(compared.rpartition("/")[2], [])

    def add(self, path: str) -> None:
        """Take a path in; one that is in already stays."""
        compared = key(path)
        named = self._named.setdefault(compared.rpartition("/")[2], [])
        at = bisect_left(named, (compared, path))
        if at == len(named) or named[at] != (compared, path):
            named.insert(at, (compared, path))

    def named(self, names: Iterable[str]) -> list[str]:
        """The paths of all that is called so."""
        return [path for name in names for _, path in self._named.get(name, ())]

    def remove(self, path: str) -> None:
        """Take a path out, if it is in."""
        compared = key(path)
        name = compared.rpartition("/")[2]
        named = self._named.get(name, [])
        at = bisect_left(named, (compared, path))
        if at < len(named) and named[at] == (compared, path):
            del named[at]
            if not named:
                del self._named[name]

    def resolve(self, target: str, source: str) -> str | None:
        """The path that a link in the note `source` means; None where it leads nowhere."""
        return next(iter(self.candidates(target, source)), None)

    def candidates(self, target: str, source: str) -> list[str]:
        """All paths a link could mean, the one it does mean first."""
        wanted = _SLASHES.sub("/", key(target))
        if not wanted:
            return [source]
        for ending in ("", SUFFIX):
            found = self._ranked(wanted + ending, source)
            if found:
                return found
        return []

    def _ranked(self, wanted: str, source: str) -> list[str]:
        folder = key(source).rpartition("/")[0]
        named = self._named.get(wanted.rpartition("/")[2], [])
        if wanted.startswith("/"):
            return [path for at, path in named if at == wanted[1:]]
        climb = _CLIMB.match(wanted)
        first = wanted
        if climb:
            first = posixpath.normpath(posixpath.join(folder, wanted))
            wanted = wanted[climb.end() :]
        exact = [path for at, path in named if at == first]
        if not exact:
            exact = [path for at, path in named if at == wanted]
        ending = [(at, path) for at, path in named if f"/{at}".endswith(f"/{wanted}")]
        ending.sort(key=lambda pair: (not _is_below(pair[0], folder), len(pair[0])))
        return exact + [path for _, path in ending if path not in exact]


def _is_below(path: str, folder: str) -> bool:
    return not folder or path.startswith(folder + "/")
