"""The links of a note as somebody may see them: they name nothing that this person may not read.

Links resolve as if the notes and attachments they may see were the only ones: to the next one that
a link could mean, or nowhere. Links from notes that they may not see are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flashgrep.notes.access.roles import Principal
from flashgrep.notes.links.index import Backlink, Linking, Sight
from flashgrep.notes.links.parse import Link


@dataclass(frozen=True, slots=True)
class SeenOutgoing:
    """A link of a note, and what somebody may see of what it could mean."""

    link: Link
    paths: tuple[str, ...]
    """The one it means for them first; empty if it leads nowhere."""
    is_attachment: bool


@dataclass(frozen=True, slots=True)
class SeenLinks:
    """All that somebody may see of a note's links."""

    outgoing: tuple[SeenOutgoing, ...]
    backlinks: tuple[Backlink, ...]
    attachments: frozenset[str]
    """Files beside the notes, those too that they may not see."""
    skipped: tuple[tuple[str, str], ...]
    """Notes that cannot be read, and why: links from them are missing."""


def seen_by(
    who: Principal,
    linking: Linking,
    path: str,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> SeenLinks:
    """What somebody may see of the links from and to the note at a path."""
    linked = linking.links_of(path, is_cancelled, sight(who))
    sees = who.sees
    outgoing = []
    for out in linked.links.outgoing:
        meant = (out.path, *out.others) if out.path is not None else ()
        is_attachment = bool(meant) and meant[0] in linked.attachments
        outgoing.append(SeenOutgoing(out.link, meant, is_attachment))
    return SeenLinks(
        outgoing=tuple(outgoing),
        backlinks=tuple(back for back in linked.links.backlinks if sees(back.source)),
        attachments=linked.attachments,
        skipped=tuple(row for row in linked.skipped if sees(row[0])),
    )


def sight(who: Principal) -> Sight | None:
    """Which paths there are for somebody; None where those are all."""
    return None if who.sees("") else who.sees
