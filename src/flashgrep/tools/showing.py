"""What `view` and `read` share: opening a file to show it, and files that are not lines of text."""

from __future__ import annotations

from flashgrep.errors import NotFound
from flashgrep.tools.answer import Answer, Image
from flashgrep.tools.missing import missing
from flashgrep.tools.sizes import size_text
from flashgrep.tools.source import Source
from flashgrep.tools.toolbox import Call
from flashgrep.workspace import names, sniffing
from flashgrep.workspace.scope import Place


def open_source(call: Call, place: Place) -> Source:
    """Open a file to be shown; a missing one is refused with a suggestion."""
    try:
        return Source(call.services.scope, place, call.settings.max_file_size)
    except NotFound:
        raise missing(call.services.scope, place, call.caller.searched) from None


def remember(call: Call, source: Source) -> None:
    """Any part of a file that was shown counts as a read of it."""
    call.caller.remember(source.place.path, source.memory())


def image_of(source: Source, wants_lines: bool) -> Answer | None:
    """The file as an image, if it is one.

    An SVG is an image by its name and text by its bytes: whoever asks for lines gets lines.
    """
    kind = sniffing.image_type(source.head, names.shown(source.place.path))
    if kind is None or (wants_lines and sniffing.is_text(source.head)):
        return None
    source.require_size(f"The image {source.place.shown}")
    return Answer("", Image(source.whole(), kind))


def binary_of(source: Source) -> Answer | None:
    """The message that stands for binary content, if it is that."""
    if sniffing.is_text(source.head):
        return None
    return Answer(f"Binary file ({size_text(source.size)})")
