"""flashgrep kb suggestions, decide and undo: what agents suggest, listed, accepted, rejected."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from flashgrep import limits
from flashgrep.notes.administration import Desk
from flashgrep.terminal.command import FOUND, NOTHING, Output, print_json, say, terminal_command
from flashgrep.terminal.kb_desk import (
    author_option,
    json_option,
    kb_option,
    opened_desk,
    user_name,
    when,
)


@terminal_command("suggestions")
@click.option("--note", metavar="NOTE", help="Only those in this note.")
@click.option("--by", "author", metavar="AUTHOR", help="Only this author's, as listed: agent/mcp.")
@click.option("--older-than", metavar="TIME", help="An age such as 12h or 7d, or a date.")
@click.option("--newer-than", metavar="TIME", help="The same.")
@json_option
@kb_option
def suggestions(kb: Path, as_json: bool, **asked: str | None) -> int:
    """List what is suggested, the oldest first: id, place, time, author, old -> new.

    Exit status 1 when there are none.
    """
    wanted = {name: value for name, value in asked.items() if value is not None}
    with opened_desk(kb) as desk:
        found = list(_all(desk, wanted))
    output = Output()
    if as_json:
        print_json(output, {"suggestions": found})
    else:
        for one in found:
            output.line(_row(one))
    output.flush()
    return FOUND if found else NOTHING


def _all(desk: Desk, wanted: dict[str, str]) -> Iterator[dict[str, Any]]:
    cursor = None
    while True:
        page = desk.call("kb/suggestions", {**wanted, "cursor": cursor})
        yield from page["suggestions"]
        cursor = page["next"]
        if cursor is None:
            return


def _row(one: dict[str, Any]) -> str:
    place, made = f"{one['note']}:{one['line']}", when(one["time"])
    change = f"{_short(one['old'])} -> {_short(one['new'])}"
    return f"{one['id']}\t{place}\t{made}\t{one['author']}\t{change}"


def _short(text: str) -> str:
    """The beginning of a text on one line, with nothing that a terminal obeys."""
    cut = text[: limits.SHORT_DIFF_CHARS]
    quoted = json.dumps(cut, ensure_ascii=False) + ("..." if len(text) > len(cut) else "")
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in quoted)


@terminal_command("decide")
@click.argument("action", type=click.Choice(["accept", "reject"]))
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@author_option
@json_option
@kb_option
def decide(kb: Path, action: str, ids: tuple[str, ...], author: str | None, as_json: bool) -> int:
    """Accept or reject suggestions by the ids that `kb suggestions` lists.

    Each line ends with the number of the decision, by which `kb undo` takes it back.

    The first decision on each counts. One that was decided before, or is not there, is told, and
    the exit status is 1 then.
    """
    by = author or user_name()
    results: list[dict[str, Any]] = []
    with opened_desk(kb) as desk:
        for at in range(0, len(ids), limits.DECISIONS_A_CALL):
            some = list(ids[at : at + limits.DECISIONS_A_CALL])
            answer = desk.call("kb/decide", {"ids": some, "action": action, "by": by})
            results += answer["results"]
    output = Output()
    if as_json:
        print_json(output, {"results": results})
    else:
        for one in results:
            if one["status"] == "done":
                output.line(f"{one['id']}\t{one['message']}\t{one['decision']}")
    output.flush()
    failed = [one for one in results if one["status"] != "done"]
    for one in failed:
        if not as_json:
            say(f"{one['id']}: {one['message']}")
    return NOTHING if failed else FOUND


@terminal_command("undo")
@click.argument("decisions", metavar="NUMBER...", nargs=-1, required=True, type=click.IntRange(1))
@author_option
@json_option
@kb_option
def undo(kb: Path, decisions: tuple[int, ...], author: str | None, as_json: bool) -> int:
    """Undo decisions by the numbers that `kb decide` prints: each suggestion is pending again.

    One that cannot be undone is told, and the exit status is 1 then: it was undone before, is not
    there, or the text around the suggestion is gone.
    """
    by = author or user_name()
    with opened_desk(kb) as desk:
        results = desk.call("kb/undo", {"decisions": list(decisions), "by": by})["results"]
    output = Output()
    if as_json:
        print_json(output, {"results": results})
    else:
        for one in results:
            if one["status"] == "done":
                output.line(f"{one['id']}\t{one['message']}\t{one['decision']}")
    output.flush()
    failed = [one for one in results if one["status"] != "done"]
    for one in failed:
        if not as_json:
            say(f"{one['decision']}: {one['message']}")
    return NOTHING if failed else FOUND
