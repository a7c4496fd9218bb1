"""The links of a note over HTTP, as get_links has them.

    GET /kb/links/{path}    ?limit= &offset=
        → {"path",
           "outgoing": [{"target", "line", "resolved", "label", "kind", …}],
           "backlinks": [{"source", "line", "context"}],
           "unresolved": [{"target", "line"}],
           "total_outgoing", "total_backlinks", "skipped"}

`resolved` is the path that the link means, null where it leads nowhere; `label` is what is shown
instead of the target. `kind` is wiki, markdown, reference, frontmatter or embed; `anchor`,
`attachment` (true) and `pending` (add or remove) are there where they apply. `context` is the line
of the link, or what is around it in a long one. `limit` and `offset` page through both lists;
`unresolved` are those of the page. `skipped` are notes that cannot be read, and why.

Nothing that the token may not read is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from flashgrep import limits
from flashgrep.errors import FlashgrepError, NotFound
from flashgrep.notes.access.roles import Role
from flashgrep.notes.knowledge_base import KnowledgeBase, NoteTree
from flashgrep.notes.library import Library
from flashgrep.notes.links.index import Backlink
from flashgrep.notes.links.scoped import SeenOutgoing, seen_by
from flashgrep.notes.reading import Shown
from flashgrep.transports.access import Admission
from flashgrep.web.handler import Answer, check_query, checked, handler, page_limit, whole_number


def links_route(kb: KnowledgeBase) -> Route:
    """GET /kb/links/{path}."""

    def answer(request: Request, who: Admission, _: Mapping[str, Any]) -> Answer:
        check_query(request, ("limit", "offset"))
        limit = page_limit(request, limits.LISTED_LINKS, limits.LISTED_LINKS_MOST)
        first = whole_number(request, "offset", 0)
        path = checked(who, Role.READ, request.path_params["path"])
        path = NoteTree(kb, who.on_notes).find(path).path
        seen = seen_by(who.on_notes, kb.links, path)
        outgoing = seen.outgoing[first : first + limit]
        rows = [_outgoing(out) for out in outgoing]
        return 200, {
            "path": path,
            "outgoing": rows,
            "backlinks": _backlinks(kb, seen.backlinks[first : first + limit]),
            "unresolved": [
                {"target": row["target"], "line": row["line"]}
                for row in rows
                if row["resolved"] is None
            ],
            "total_outgoing": len(seen.outgoing),
            "total_backlinks": len(seen.backlinks),
            "skipped": [list(row) for row in seen.skipped[: limits.LISTED_LINES]],
        }

    return Route("/kb/links/{path:path}", handler(answer), methods=["GET"])


def _outgoing(out: SeenOutgoing) -> dict[str, Any]:
    link = out.link
    row: dict[str, Any] = {
        "target": link.target,
        "line": link.line,
        "resolved": out.paths[0] if out.paths else None,
        "label": link.label,
        "kind": "embed" if link.is_embed else str(link.form),
    }
    if link.anchor:
        row["anchor"] = link.anchor
    if link.pending:
        row["pending"] = str(link.pending)
    if out.is_attachment:
        row["attachment"] = True
    return row


def _backlinks(kb: KnowledgeBase, backlinks: Sequence[Backlink]) -> list[dict[str, Any]]:
    lines = _lines(kb, {back.source for back in backlinks})
    return [
        {
            "source": back.source,
            "line": back.link.line,
            "context": _context(lines.get(back.source, ()), back),
        }
        for back in backlinks
    ]


def _lines(kb: KnowledgeBase, paths: set[str]) -> dict[str, Sequence[str]]:
    """The lines of some notes as `read` shows them; of one that is gone meanwhile, none."""

    def ids(library: Library) -> dict[str, str]:
        found = ((path, library.catalogue.find(path)) for path in paths)
        return {path: entry.id for path, entry in found if entry is not None}

    notes = kb.ask(ids)
    texts = kb.texts.all(list(notes.values()), Shown.ACCEPTED)
    return {
        path: text.decode().split("\n")
        for path, note in notes.items()
        if not isinstance(text := texts.get(note, NotFound("")), FlashgrepError)
    }


def _context(lines: Sequence[str], back: Backlink) -> str:
    """The line of a link, or of a long one what is around the link."""
    if not 0 < back.link.line <= len(lines):
        return ""
    line = lines[back.link.line - 1]
    if len(line) <= 2 * limits.CONTEXT_CHARS:
        return line
    at = max(line.find(back.link.source[: limits.CONTEXT_CHARS]), 0)
    first = max(at - limits.CONTEXT_CHARS, 0)
    cut = line[first : first + 2 * limits.CONTEXT_CHARS]
    return "…" * (first > 0) + cut + "…" * (first + len(cut) < len(line))
