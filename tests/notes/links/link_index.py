"""The links of notes kept in memory: the definition that the table of links is compared with.

What is stored is which notes hold a link to each *name*, so a question looks only at links that
could be meant, and is answered from the paths as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from flashgrep.notes.links.index import Backlink, NoteLinks, Outgoing
from flashgrep.notes.links.parse import Link, Paths, name_of, names_for


def unresolved(links: NoteLinks) -> list[Link]:
    """The links of a note that lead nowhere."""
    return [out.link for out in links.outgoing if out.path is None]


def pending(links: NoteLinks) -> list[Outgoing]:
    """The links of a note that suggestions add or remove."""
    return [out for out in links.outgoing if out.link.pending]


class LinkIndex:
    """Which note links to which; a change of one note costs that note's links."""

    def __init__(self) -> None:
        self._paths = Paths()
        self._links: dict[str, tuple[Link, ...]] = {}
        self._sources: dict[str, set[str]] = {}
        """By name: the notes that hold a link whose path ends with it."""

    def put(self, path: str, links: Sequence[Link] = ()) -> None:
        """Take a note in, or take note of its new links; an attachment has none."""
        self._forget(path)
        self._paths.add(path)
        self._links[path] = tuple(links)
        for name in _names(links):
            self._sources.setdefault(name, set()).add(path)

    def remove(self, path: str) -> None:
        """Take a note out, if it is in; links to it lead elsewhere or nowhere from now on."""
        self._forget(path)
        self._paths.remove(path)
        self._links.pop(path, None)

    def move(self, old: str, new: str) -> None:
        """Take a note from one path to another, with its links."""
        links = self._links.get(old, ())
        self.remove(old)
        self.put(new, links)

    def _forget(self, path: str) -> None:
        for name in _names(self._links.get(path, ())):
            self._sources[name].discard(path)
            if not self._sources[name]:
                del self._sources[name]

    def links_of(self, path: str) -> NoteLinks:
        """The links from and to a note."""
        return NoteLinks(self._outgoing(path), self._backlinks(path))

    def unresolved(self) -> list[Backlink]:
        """Every link that leads nowhere, by note."""
        return [
            Backlink(path, out.link)
            for path in sorted(self._links)
            for out in self._outgoing(path)
            if out.path is None
        ]

    def _outgoing(self, path: str) -> tuple[Outgoing, ...]:
        found = []
        for link in self._links.get(path, ()):
            paths = self._paths.candidates(link.target, path)
            found.append(Outgoing(link, paths[0] if paths else None, tuple(paths[1:])))
        return tuple(found)

    def _backlinks(self, path: str) -> tuple[Backlink, ...]:
        """Links from other notes, and those of the note itself that name it."""
        names = names_for(path)
        sources = set().union(*(self._sources.get(name, ()) for name in names))
        return tuple(
            Backlink(source, link)
            for source in sorted(sources)
            for link in self._links[source]
            if name_of(link.target) in names and self._paths.resolve(link.target, source) == path
        )


def _names(links: Sequence[Link]) -> set[str]:
    return {name_of(link.target) for link in links if link.target}
