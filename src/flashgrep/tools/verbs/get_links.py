"""get_links: where a note's links lead, and which notes link to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from flashgrep.mount import DocumentLinks
from flashgrep.tools.dispatch.call import Answer, fitting, json_answer, json_room
from flashgrep.tools.dispatch.spec import ToolSpec, file_path_row, page_rows

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.call import Call
    from flashgrep.tools.dispatch.spec import Arguments

Row = dict[str, Any]


def get_links(call: Call, arguments: Arguments) -> Answer:
    """Answer a page of a document's links."""
    target = call.target(arguments.text("file_path"), "document")
    return json_answer(_page(call, target.mount.links(target.path), arguments))


def _page(call: Call, links: DocumentLinks, arguments: Arguments) -> Row:
    offset: int = arguments.get("offset")
    limit: int | None = arguments.get("limit")
    outgoing, backlinks = links.outgoing, links.backlinks
    end = None if limit is None else offset + limit
    room = json_room(call.output_chars)
    share = None if room is None else room // 3
    out = fitting(outgoing[offset:end], share)
    back = fitting(backlinks[offset:end], share)
    ends = [
        offset + len(page)
        for page, all_of_it in ((out, outgoing), (back, backlinks))
        if offset + len(page) < len(all_of_it)
    ]
    answer: Row = {
        "file_path": links.shown,
        "outgoing": out,
        "backlinks": back,
        "unresolved": [_brief(row) for row in out if not row["resolved"]],
        "pending": [_brief(row) for row in out if "pending" in row],
        "total_outgoing": len(outgoing),
        "total_backlinks": len(backlinks),
        "truncated": bool(ends),
        "next_offset": min(ends, default=None),
    }
    if links.skipped:
        answer["skipped"] = links.skipped
    return answer


def _brief(row: Row) -> Row:
    return {name: row[name] for name in _BRIEF if name in row}


_BRIEF: Iterable[str] = ("target", "line", "pending")

SPEC = ToolSpec(
    name="get_links",
    title="Links of a note",
    description=(
        "Where a note's links lead and which notes link to it, as JSON: outgoing (target, line, "
        "text, kind, resolved, path, others it could have meant), backlinks (source, line, text), "
        "unresolved (links that lead nowhere), pending (links that a suggestion adds or removes), "
        "totals, truncated, next_offset. Wikilinks, embeds, Markdown and reference links and those "
        "in frontmatter count, and mean what they mean in Obsidian. Lines are those that read "
        "shows. limit and offset page through outgoing and backlinks."
    ),
    parameters=(
        file_path_row("Path of the note, as read accepts it"),
        *page_rows("links each way"),
    ),
    handler=get_links,
    toolset="kb",
)
