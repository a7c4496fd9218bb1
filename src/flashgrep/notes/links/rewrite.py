"""Links that follow notes to other paths: which ones a move breaks, and how they are mended.

A link is broken if it would now mean another note or none, or if a path such as A/x or ../x no
longer leads there. That happens to links to a note that moves, to the note's own relative links,
and to links to notes that stay if a moved one now comes first for their name. Only the path is
mended, in the style it is written in:

    [[N|alias]]  [[N#H]]  ![[N|100]]   wiki links keep what follows the path
    [t](a%20b.md#h "title")            Markdown keeps heading, title, and how characters are escaped
    [t][label]                         of a reference, the definition is mended

The new path has the form of the old one: a name alone, a path from the top, a path from the note's
own folder, with or without `.md`. Where that form would mean another note, the whole path is taken.
Links that led nowhere are left alone, and so are links in code.

A note with suggestions has two readings. A path is mended where it is the same stretch of the text
in both, or where only one of them has it: inside what a mark inserts or deletes. Delimiters are
never touched. A path that a mark cuts apart is left, and counted.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import quote

from flashgrep import limits
from flashgrep.errors import InvalidParams
from flashgrep.notes.document.text import Push, TextSplice, ordered, spliced
from flashgrep.notes.links.parse import (
    SUFFIX,
    Form,
    Link,
    Paths,
    Place,
    is_address,
    key,
    name_of,
    names_for,
    placed,
)
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import MarkupView, ParsedMarkup, Span

# ── which links are broken ───────────────────────────────────────────────────────────────────────


class Meant(NamedTuple):
    """The note that a link means."""

    before: str
    """Where it is…"""
    after: str
    """…and where it will be."""


class Renaming:
    """What paths mean before and after some of them change."""

    def __init__(self, paths: Iterable[str], moved: Mapping[str, str]) -> None:
        """`paths` are at least all that have one of the names that are asked about."""
        before = tuple(paths)
        self.moved = moved
        self.names = names_of(moved)
        self._before = Paths(before)
        self._after = Paths(moved.get(path, path) for path in before)
        self._known: dict[tuple[str, str, str], Meant | None] = {}

    def is_asked(self, link: Link, source: str) -> bool:
        """Whether a link of a note can be broken at all."""
        return bool(link.target) and (source in self.moved or name_of(link.target) in self.names)

    def broken(self, target: str, source: str) -> Meant | None:
        """What a link in a note means, where that is broken; None where it is not.

        Where a link leads depends on its target and on the folder of its note, so of many alike
        one is looked up.
        """
        there = self.moved.get(source, source)
        asked = (target, source.rpartition("/")[0], there.rpartition("/")[0])
        if asked not in self._known:
            before = self._before.resolve(target, source)
            meant = Meant(before, self.moved.get(before, before)) if before else None
            is_kept = meant is None or (
                self._after.resolve(target, there) == meant.after
                and _is_exact(target, source, meant.before) <= _is_exact(target, there, meant.after)
            )
            self._known[asked] = None if is_kept else meant
        return self._known[asked]

    def leads(self, target: str, source: str) -> str | None:
        """Where a link of a note leads afterwards; `source` is its path before."""
        return self._after.resolve(target, self.moved.get(source, source))

    def led(self, target: str, source: str) -> str | None:
        """Where a link leads now, as a path of afterwards."""
        found = self._before.resolve(target, source)
        return self.moved.get(found, found) if found else None


def _is_exact(target: str, source: str, path: str) -> bool:
    """Whether a target is the way to a note, from the top or as `../x` from its own note.

    Where it is not, the resolution goes by the end of the path; other programs do not.
    """
    if "/" not in target.strip("/"):
        return False
    above = source.rpartition("/")[0] if target.startswith(("./", "../")) else ""
    way = posixpath.normpath(posixpath.join(above, target.strip("/")))
    return key(path) in (key(way), key(way + SUFFIX))


def names_of(moved: Mapping[str, str]) -> frozenset[str]:
    """The names by which links can mean a note that moves, or one whose name is taken."""
    return frozenset(name for pair in moved.items() for path in pair for name in names_for(path))


# ── how a path is written ────────────────────────────────────────────────────────────────────────


_BYTE: Final = re.compile("%[0-9a-fA-F]{2}")
_OTHER_BYTE: Final = re.compile("%[89a-fA-F][0-9a-fA-F]")
_NOT_IN_WIKI: Final = re.compile(r"[\[\]|#\n]")
_ESCAPED: Final = frozenset('%#\\<>`[]{}|"$')
_ODD: Final = re.compile(r"[`<>]|\$\$|%%")
"""Characters that may mean something else to Markdown: a note with such a link is read again…"""
_LONG_CHARS: Final = limits.LINK_CHARS // 4
"""…and so is one with a link that may be too long."""


class _Writing(NamedTuple):
    """One link as a view has it."""

    link: Link
    place: Place
    text: str
    """Of the whole view."""

    @property
    def path(self) -> str:
        return self.text[self.place.start : self.place.end]

    @property
    def is_wiki(self) -> bool:
        return self.link.form in (Form.WIKI, Form.FRONTMATTER)

    def spelled(self, target: str) -> str | None:
        """A target as it is written here; None where it cannot be."""
        if not self.is_wiki:
            return None if is_address(target) else self._escaped(target)
        is_mark = critic.token(target) is not None or critic.ARROW in target
        is_quoted = self.link.form is Form.FRONTMATTER and '"' in target
        return None if is_mark or is_quoted or _NOT_IN_WIKI.search(target) else target

    def _escaped(self, target: str) -> str:
        """A target with what Markdown needs escaped, escaped as it is in the path so far."""
        uses_bytes = bool(_BYTE.search(self.path))
        escapes_all = bool(_OTHER_BYTE.search(self.path))
        uses_slashes = not uses_bytes and "\\" in self.path

        def one(character: str) -> str:
            if character == " " and self.place.is_angled and not uses_bytes:
                return character
            if character in "()" and (self.place.is_angled or uses_slashes):
                return character if self.place.is_angled else "\\" + character
            is_plain = character.isascii() or not escapes_all
            if is_plain and character not in _ESCAPED and character not in "()":
                return quote(character) if character.isspace() else character
            return quote(character, safe="")

        return "".join(map(one, target))

    def in_quotes(self, path: str) -> tuple[Place, str]:
        """Where a path goes, and what: with the quotes of a property, where it holds such a one."""
        before = self.text[: self.link.start].rstrip(" ")
        if self.link.form is not Form.FRONTMATTER or "'" not in path or before[-1:] != "'":
            return self.place, path
        end = self.text.index("'", self.link.start + len(self.link.source))
        between = self.text[len(before) : self.place.start], self.text[self.place.end : end]
        return Place(len(before) - 1, end + 1), f'"{between[0]}{path}{between[1]}"'


def _targets(writing: _Writing, source: str, meant: Meant, there: str) -> Iterator[str]:
    """Targets for a note, those first that are most like the one that is written.

    `there` is the path of the link's own note afterwards.
    """
    target = writing.link.target
    has_suffix = key(target).endswith(SUFFIX) or not meant.after.endswith(SUFFIX)
    path = meant.after if has_suffix else meant.after.removesuffix(SUFFIX)
    old = meant.before if has_suffix else meant.before.removesuffix(SUFFIX)
    from_folder = posixpath.relpath(path, there.rpartition("/")[0] or ".")
    is_relative = target.startswith(("./", "../"))
    was_relative = target == posixpath.relpath(old, source.rpartition("/")[0] or ".")
    if target.startswith("/"):
        yield "/" + path
    elif is_relative:
        yield from_folder if from_folder.startswith("../") else "./" + from_folder
    elif "/" in target and was_relative and not writing.is_wiki:
        yield from_folder
    if "/" not in target or key(target) != key(old):
        yield "/".join(path.split("/")[-1 - target.strip("/").count("/") :])
    yield path
    yield "/" + path
    yield meant.after
    yield "/" + meant.after


def _mended(writing: _Writing, source: str, meant: Meant, renaming: Renaming) -> str | None:
    """The path of a broken link as it is to be written; None where it cannot be."""
    for target in _targets(writing, source, meant, renaming.moved.get(source, source)):
        spelled = writing.spelled(target)
        if spelled is not None and renaming.leads(target, source) == meant.after:
            return spelled
    return None


# ── a note ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Relinked:
    """Mends the broken links of a note."""

    splices: tuple[TextSplice, ...]
    left: int
    """Broken links that cannot be mended, because marks cut them apart."""


class CannotFollow(InvalidParams):
    """A path cannot be written in the links that would have to lead there."""


def relink(
    source: str, reading: ParsedMarkup, spans: Sequence[Span], renaming: Renaming
) -> Relinked:
    """Mend the links of the note now at `source`; `spans` are those of its records."""
    accepted = _wanted(reading.accepted, source, renaming)
    has_two = any(mark.kind in critic.SUGGESTIONS for mark in reading.marks)
    base = _wanted(reading.base, source, renaming) if has_two else accepted
    left = set(accepted.left | base.left)
    splices: list[TextSplice] = []
    for (start, end), text in sorted({**base.spans, **accepted.spans}.items()):
        seen = [one for one in (accepted, base) if one.view.spans(start, end)]
        is_apart = not splices or splices[-1].end <= start
        if is_apart and all(one.spans.get((start, end)) == text for one in seen):
            splices.append(TextSplice(start, end, text))
        else:
            left.add(start)
    found = Relinked(tuple(splices), len(left))
    if any(_is_odd(splice.text) for splice in splices):
        _check(source, reading, spans, found, renaming)
    return found


def _is_odd(text: str) -> bool:
    return len(text) > _LONG_CHARS or _ODD.search(text) is not None


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Mends the links of one view."""

    view: MarkupView
    spans: Mapping[Span, str]
    """Stretches of the text itself, and what is to be there."""
    left: frozenset[int]
    """Where links begin in the text if their path is not in one piece."""


def _wanted(view: MarkupView, source: str, renaming: Renaming) -> _Wanted:
    found: dict[Span, str] = {}
    left: set[int] = set()
    for link, place in placed(view.text):
        if not renaming.is_asked(link, source):
            continue
        meant = renaming.broken(link.target, source)
        if meant is None:
            continue
        writing = _Writing(link, place, view.text)
        text = _mended(writing, source, meant, renaming)
        if text is None:
            raise _unwritable(meant.after, writing)
        place, text = writing.in_quotes(text)
        start, end = view.start_of(place.start), view.end_of(place.end)
        if end - start == place.end - place.start:
            found[start, end] = text
        else:
            left.add(start)
    return _Wanted(view, found, frozenset(left))


def _unwritable(path: str, writing: _Writing) -> CannotFollow:
    shown = writing.link.source if len(writing.link.source) <= 80 else writing.path[:80]
    return CannotFollow(
        f"{path!r} cannot be written in a link such as {shown}, which has to lead there; choose a "
        'name without [ ] # | " { } ~>'
    )


def _check(
    source: str,
    reading: ParsedMarkup,
    spans: Sequence[Span],
    found: Relinked,
    renaming: Renaming,
) -> None:
    """Refuse a path that turns a link into something else, and read what comes of it to know."""
    changes = ordered(reading.text, found.splices)
    after = critic.read(spliced(reading.text, changes), Push(changes).spans(spans))
    views = ((reading.accepted, after.accepted), (reading.base, after.base))
    for before, now in views:
        was = [renaming.led(link.target, source) for link, _ in placed(before.text)]
        leads = [renaming.leads(link.target, source) for link, _ in placed(now.text)]
        broken = sum(one != other for one, other in zip(was, leads, strict=False) if one)
        if len(was) != len(leads) or broken > found.left:
            written = found.splices[0].text
            raise CannotFollow(
                f"{written!r} means something else in Markdown, and links would have to hold it; "
                "choose a name without ` $ < > %"
            )
