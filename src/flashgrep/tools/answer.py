"""What a tool gives back: text, perhaps an image, perhaps a code that says it failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashgrep.errors import FlashgrepError


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

    @property
    def failed(self) -> bool:
        return self.code is not None


def refusal(error: FlashgrepError) -> Answer:
    """The answer that tells a failure."""
    return Answer(error.message, code=error.code)
