"""What `view` and `read` share: documents that are not lines of text, what follows the lines."""

from __future__ import annotations

from collections.abc import Callable

from flashgrep.mount import Document
from flashgrep.tools.answer import Answer, Image
from flashgrep.tools.budget import Budget
from flashgrep.tools.sizes import size_text
from flashgrep.workspace import sniffing


def image_of(document: Document, wants_lines: bool) -> Answer | None:
    """The document as an image, if it is one.

    An SVG is an image by its name and text by its bytes: whoever asks for lines gets lines.
    """
    kind = sniffing.image_type(document.head, document.name)
    if kind is None or (wants_lines and sniffing.is_text(document.head)):
        return None
    document.require_size(f"The image {document.shown}")
    return Answer("", Image(document.whole(), kind))


def binary_of(document: Document) -> Answer | None:
    """The message that stands for binary content, if it is that."""
    if sniffing.is_text(document.head):
        return None
    return Answer(f"Binary file ({size_text(document.size)})")


def with_trailer(
    document: Document, first: int, chars: int, lines: Callable[[Budget], str]
) -> Answer:
    """Lines from number `first` on, then what the document says after them, in one budget."""
    trailer = document.trailer(first, (chars or 2**62) // 2)
    if not trailer:
        return Answer(lines(Budget(chars)))
    text = lines(Budget(max(chars - len(trailer) - 2, 1) if chars else 0))
    return Answer(f"{text}\n\n{trailer}")
