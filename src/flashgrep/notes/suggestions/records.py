"""Suggestions among what is known beside a note's text: from records and back.

    kind      "suggestion"
    author    who proposes it
    from      what kind of author that is (see `author.AuthorKind`); older records do not say
    time      when it was made, in milliseconds since 1970
    changed   when its author changed it last; not there where that never was
    asked     the digest of the edit that made it what it is (see `suggestion.digest`)
    typed     true for a mark that a person typed into the text (see `typed_marks`)
    found     true for a mark that nobody completed but that came to light; its record lasts as long
              as the text alone shows the mark

    kind      "withdrawn": the last edit of an author that took a suggestion back
    author    whose
    time      when
    asked     as above
    text      the digest of the note's text after it

A suggestion's id is given once and stays; that of a withdrawn edit is its author's, so that there
is one for each. Records are part of the document. Peers cannot write them (see `peerchanges`), but
with older versions they could: what is not of these shapes is skipped.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any, Final

from flashgrep.notes.access.author import AuthorKind, source_named
from flashgrep.notes.document.note import Beside
from flashgrep.notes.suggestions.suggestion import Recorded

SUGGESTION: Final = "suggestion"
CHANGED: Final = "changed"
FROM: Final = "from"
TYPED: Final = "typed"
FOUND: Final = "found"
WITHDRAWN: Final = "withdrawn"
_ID_BYTES: Final = 8


def new_id() -> str:
    """An id for a suggestion."""
    return f"s_{secrets.token_hex(_ID_BYTES)}"


def recorded(besides: Mapping[str, Beside]) -> list[Recorded]:
    """The suggestions among a note's records, in the order they were made."""
    return [
        Recorded(
            id=name,
            author=_text(found.value, "author"),
            spans=found.spans,
            asked=_text(found.value, "asked"),
            source=source_of(found.value),
        )
        for name, found in besides.items()
        if is_suggestion(found.value)
    ]


def is_suggestion(value: Mapping[str, Any]) -> bool:
    """Whether a record tells of a suggestion."""
    return value.get("kind") == SUGGESTION and isinstance(value.get("author"), str)


def source_of(value: Mapping[str, Any]) -> AuthorKind | None:
    """What kind of author a record is of; a mark that was typed is a person's."""
    return AuthorKind.PERSON if value.get(TYPED) else source_named(value.get(FROM))


def beside(record: Recorded, made_at_ms: int, before: Mapping[str, Any] | None = None) -> Beside:
    """The record of a suggestion; `before` is what it was, for one that its author changed."""
    value = {"kind": SUGGESTION, "author": record.author, "asked": record.asked}
    if record.source:
        value[FROM] = record.source.value
    if before is None:
        return Beside({**value, "time": made_at_ms}, record.spans)
    return Beside({**before, **value, CHANGED: made_at_ms}, record.spans)


def made_at(value: Mapping[str, Any]) -> int:
    """When a suggestion was made, in milliseconds since 1970; 0 where that is not known."""
    made = value.get("time")
    return made if isinstance(made, int) and not isinstance(made, bool) and made >= 0 else 0


# ── edits that took a suggestion back ───────────────────────────────────────────────────────────


def withdrawn_id(author: str) -> str:
    """Where the author's last withdrawn edit is recorded."""
    return f"w_{hashlib.sha256(author.encode()).hexdigest()[: 2 * _ID_BYTES]}"


def withdrawn(author: str, asked: str, text: str, made_at_ms: int) -> Beside:
    """The record of an edit that left `text` without the suggestion there was."""
    value = {"kind": WITHDRAWN, "author": author, "asked": asked, "text": text_digest(text)}
    return Beside({**value, "time": made_at_ms})


def is_withdrawn(value: Mapping[str, Any], asked: str, text: str | None = None) -> bool:
    """Whether a record tells of this very edit, and, where one is given, of this text after it."""
    is_this = value.get("kind") == WITHDRAWN and value.get("asked") == asked
    return is_this and (text is None or value.get("text") == text_digest(text))


def text_digest(text: str) -> str:
    """What `text` of a withdrawn edit holds."""
    return hashlib.sha256(text.encode()).hexdigest()


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""
