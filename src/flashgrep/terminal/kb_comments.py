"""flashgrep kb comments: what people and agents say about notes, listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from flashgrep.terminal.command import FOUND, NOTHING, say, show, terminal_command
from flashgrep.terminal.kb import json_option, kb_option, opened_api, when
from flashgrep.terminal.kb_commands import shortened


@terminal_command("comments", short_help="List open comments.")
@click.option("--note", metavar="NOTE", help="Only those in this note.")
@click.option("--resolved", is_flag=True, help="Resolved ones instead, newest first.")
@json_option
@kb_option
def comments(kb: Path, note: str | None, resolved: bool, as_json: bool) -> int:
    """List the open comments by note: id, place, time, author, text; replies follow, indented.

    Exit status 1 when there are none.
    """
    with opened_api(kb) as api:
        answer = api.call("kb/comments", {"note": note, "resolved": resolved})
    found = answer["comments"]
    show({"comments": found}, as_json, (line for one in found for line in _lines(one)))
    if answer["more"]:
        say(f"only the first {len(found):,} threads are listed; name a note with --note")
    if not found and not as_json:
        where = f" in {note}" if note else ""
        say(f"there are no {'resolved' if resolved else 'open'} comments{where}")
    return FOUND if found else NOTHING


def _lines(one: Mapping[str, Any]) -> Iterator[str]:
    place = f"{one['note']}:{one['line']}" if "line" in one else one["note"]
    about = f"on {one['suggestion']} " if one["suggestion"] else ""
    if one["quote"]:
        about = f"on {shortened(one['quote'])} "
    yield f"{one['id']}\t{place}\t{_said(one, about)}"
    for reply in one["replies"]:
        yield f"  {reply['id']}\t\t{_said(reply)}"


def _said(one: Mapping[str, Any], about: str = "") -> str:
    return f"{when(one['time'])}\t{one['author']}\t{about}{shortened(one['text'])}"
