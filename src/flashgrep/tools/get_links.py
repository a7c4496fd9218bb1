"""get_links: where a note's links lead, and which notes link to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from flashgrep import limits
from flashgrep.tools import places
from flashgrep.tools.answer import Answer, json_answer, json_text
from flashgrep.tools.registry import Parameter, ToolSpec

if TYPE_CHECKING:
    from flashgrep.kb.linkindex import Backlink, Outgoing
    from flashgrep.kb.linking import Linked
    from flashgrep.kb.links import Link
    from flashgrep.tools.arguments import Arguments
    from flashgrep.tools.toolbox import Call

Row = dict[str, Any]


def get_links(call: Call, arguments: Arguments) -> Answer:
    """Answer a page of a note's links."""
    given = arguments.text("file_path")
    notes = places.mounted(call)
    path = places.tree(call).find(places.noted(call, given)).path
    linked = notes.links.links_of(path, lambda: bool(call.cancelled))
    shown = places.shown_note(call.settings, path)
    return json_answer(_page(call, shown, _Rows(call, linked), arguments))


class _Rows:
    """A note's links as objects: nothing that the caller may not read is named."""

    def __init__(self, call: Call, linked: Linked) -> None:
        self._call = call
        self._linked = linked

    def outgoing(self) -> list[Row]:
        return [self._out(out) for out in self._linked.links.outgoing]

    def backlinks(self) -> list[Row]:
        found = self._linked.links.backlinks
        return [self._back(back) for back in found if self._is_seen(back.source)]

    def skipped(self) -> list[list[str]]:
        few = [row for row in self._linked.skipped if self._is_seen(row[0])]
        return [[self._shown(path), why] for path, why in few[: limits.LISTED_LINES]]

    def _out(self, out: Outgoing) -> Row:
        meant = [path for path in (out.path, *out.others) if path and self._is_seen(path)]
        row = _described(out.link)
        row["resolved"] = bool(meant)
        row["path"] = self._shown(meant[0]) if meant else None
        if meant and meant[0] in self._linked.attachments:
            row["attachment"] = True
        if len(meant) > 1:
            few = meant[1 : 1 + limits.LISTED_LINES]
            row["others"] = [self._shown(path) for path in few]
        return row

    def _back(self, back: Backlink) -> Row:
        return {"source": self._shown(back.source), **_described(back.link)}

    def _is_seen(self, path: str) -> bool:
        return self._call.caller.principal.role_on(path) is not None

    def _shown(self, path: str) -> str:
        if path in self._linked.attachments:
            return path
        return places.shown_note(self._call.settings, path)


def _described(link: Link) -> Row:
    row: Row = {"target": link.target, "line": link.line, "text": link.source}
    row["kind"] = "embed" if link.is_embed else str(link.form)
    if link.anchor:
        row["anchor"] = link.anchor
    if link.pending:
        row["pending"] = str(link.pending)
    return row


# ── pages ───────────────────────────────────────────────────────────────────────────────────────


def _page(call: Call, shown: str, rows: _Rows, arguments: Arguments) -> Row:
    offset: int = arguments.get("offset")
    limit: int | None = arguments.get("limit")
    outgoing, backlinks = rows.outgoing(), rows.backlinks()
    chars = call.output_chars
    room = max(chars - limits.FOOTER_CHARS, chars // 2) // 3 if chars else None
    out = _fitting(outgoing[offset:], limit, room)
    back = _fitting(backlinks[offset:], limit, room)
    ends = [
        offset + len(page)
        for page, all_of_it in ((out, outgoing), (back, backlinks))
        if offset + len(page) < len(all_of_it)
    ]
    answer: Row = {
        "file_path": shown,
        "outgoing": out,
        "backlinks": back,
        "unresolved": [_brief(row) for row in out if not row["resolved"]],
        "pending": [_brief(row) for row in out if "pending" in row],
        "total_outgoing": len(outgoing),
        "total_backlinks": len(backlinks),
        "truncated": bool(ends),
        "next_offset": min(ends, default=None),
    }
    if skipped := rows.skipped():
        answer["skipped"] = skipped
    return answer


def _fitting(rows: Sequence[Row], limit: int | None, room: int | None) -> list[Row]:
    """As many as were asked for and there is room for, and at least one."""
    page: list[Row] = []
    for row in rows if limit is None else rows[:limit]:
        if room is not None:
            room -= len(json_text(row)) + 1
            if room < 0 and page:
                break
        page.append(row)
    return page


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
        Parameter(
            "file_path",
            "string",
            "Path of the note, as read has it",
            aliases=("path",),
            required=True,
        ),
        Parameter("limit", "integer", "At most this many links each way", minimum=1),
        Parameter("offset", "integer", "Skip this many links each way first", default=0, minimum=0),
    ),
    handler=get_links,
    toolset="kb",
)
