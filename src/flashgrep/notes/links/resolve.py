"""Which note a link means: Obsidian's order, over all paths of a knowledge base.

Names compare without regard to case, in NFC, with no-break spaces as spaces. For a link's path,
as written and then with `.md`:

    1. empty            the note itself
    2. ./x  ../x        that very path from the note's folder; if there is none, x as below
    3. /x               that very path from the root, or nothing
    4. x                that very path from the root
    5. x                the paths that end with it: those below the note's folder first, then the
                        others, each the shortest first, and by name where they are as long

The first one is meant; a link is never ambiguous. Aliases in frontmatter do not count.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Final

_SUFFIX: Final = ".md"
_SPACES: Final = str.maketrans({"\u00a0": " ", "\u202f": " "})
_SLASHES: Final = re.compile("/{2,}")
_CLIMB: Final = re.compile(r"(?:\.{1,2}/)+")


def key(path: str) -> str:
    """A path as it is compared."""
    if path.isascii():
        return path.strip().lower()
    composed = unicodedata.normalize("NFC", path.translate(_SPACES).strip())
    return unicodedata.normalize("NFC", composed.lower())


def name_of(target: str) -> str:
    """The last part of a link's path, as it is compared: only notes called so can be meant."""
    return key(target).rpartition("/")[2]


def names_for(path: str) -> set[str]:
    """What `name_of` gives for the links that can mean a path."""
    name = name_of(path)
    return {name, name.removesuffix(_SUFFIX)}


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
        for ending in ("", _SUFFIX):
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
