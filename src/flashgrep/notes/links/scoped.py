"""The links of a note as somebody may see them: nothing that they may not read is named.

A link whose note they may not see leads, for them, to the next one that it could have meant, or
nowhere; links from notes that they may not see are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flashgrep.notes.access.roles import Principal
from flashgrep.notes.links.index import Backlink, Linked
from flashgrep.notes.links.parse import Link


@dataclass(frozen=True, slots=True)
class SeenOutgoing:
    """A link of a note, and what somebody may see of what it could mean."""

    link: Link
    paths: tuple[str, ...]
    """The one it means for them first; none where it leads nowhere."""
    is_attachment: bool


@dataclass(frozen=True, slots=True)
class SeenLinks:
    """All that somebody may see of a note's links."""

    outgoing: tuple[SeenOutgoing, ...]
    backlinks: tuple[Backlink, ...]
    skipped: tuple[tuple[str, str], ...]
    """Notes that cannot be read, and why: links from them are missing."""


def seen_by(who: Principal, linked: Linked) -> SeenLinks:
    """What somebody may see."""

    def seen(paths: Iterable[str | None]) -> tuple[str, ...]:
        return tuple(path for path in paths if path and who.role_on(path) is not None)

    outgoing = []
    for out in linked.links.outgoing:
        meant = seen([out.path, *out.others])
        is_attachment = bool(meant) and meant[0] in linked.attachments
        outgoing.append(SeenOutgoing(out.link, meant, is_attachment))
    return SeenLinks(
        outgoing=tuple(outgoing),
        backlinks=tuple(back for back in linked.links.backlinks if seen([back.source])),
        skipped=tuple(row for row in linked.skipped if seen([row[0]])),
    )
