"""What a tool gives back: text, perhaps an image, perhaps a code that says it failed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from flashgrep import limits
from flashgrep.errors import FlashgrepError

Row = TypeVar("Row")


@dataclass(frozen=True)
class Image:
    """An image for ImageContent: raw bytes and MIME type."""

    data: bytes
    mime_type: str


@dataclass(frozen=True)
class Answer:
    """One tool answer; `code` is None exactly when the call succeeded."""

    text: str
    image: Image | None = None
    code: str | None = None
    structured: Mapping[str, Any] | None = None
    data: Mapping[str, Any] | None = None
    """What a direct method gives as its result; None where the text is all there is."""

    @property
    def failed(self) -> bool:
        return self.code is not None


def refusal(error: FlashgrepError) -> Answer:
    """The answer that tells a failure."""
    return Answer(error.message, code=error.code)


def json_answer(data: Mapping[str, Any]) -> Answer:
    """An answer that is an object: as compact JSON for a tool, as itself for a direct method."""
    return Answer(json_text(data), data=data)


def json_refusal(error: FlashgrepError) -> Answer:
    """The answer that tells a failure of a tool whose answers are JSON."""
    told = {"code": error.code, "message": error.message, **error.details}
    return Answer(json_text({"ok": False, "error": told}), code=error.code)


def json_room(chars: int) -> int | None:
    """How much of a budget the rows of an answer may take; None for any amount."""
    return max(chars - limits.FOOTER_CHARS, chars // 2) if chars else None


def fitting(rows: Iterable[Row], room: int | None) -> list[Row]:
    """As many rows as there is room for as JSON, and at least one."""
    if room is None:
        return list(rows)
    taken: list[Row] = []
    for row in rows:
        room -= len(json_text(row)) + 1
        if room < 0 and taken:
            break
        taken.append(row)
    return taken


def json_text(data: Any) -> str:
    """Compact JSON, as it stands in an answer."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
