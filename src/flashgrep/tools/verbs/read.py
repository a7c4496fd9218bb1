"""read: a file with line numbers, from a line on; images, notebooks and PDF text too."""

from __future__ import annotations

from collections.abc import Iterable

from flashgrep.mount import Document
from flashgrep.tools.dispatch.answer import Answer
from flashgrep.tools.dispatch.arguments import Arguments
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec
from flashgrep.tools.dispatch.toolbox import Call
from flashgrep.tools.format.numbered import binary_of, image_of, read_lines, with_trailer
from flashgrep.tools.verbs.documents import HINT, UNREADABLE, has_extractor, pdf_text
from flashgrep.tools.verbs.notebooks import notebook_text
from flashgrep.workspace.text import decode, display


def read(call: Call, arguments: Arguments) -> Answer:
    """Show a file's lines from `offset` on."""
    target = call.target(arguments.text("path"), "document")
    wants_lines = bool(arguments.given & {"offset", "limit", "column"})
    with target.mount.read(target.path, arguments.find("view")) as document:
        answer = image_of(document, wants_lines) or _lines(call, document, arguments)
        document.was_shown()
    return answer


def _lines(call: Call, document: Document, arguments: Arguments) -> Answer:
    if document.head.startswith(b"%PDF-"):
        return _pdf(call, document, arguments)
    binary = binary_of(document)
    if binary is not None:
        return binary
    document.require_size(document.shown)
    if document.name.lower().endswith(".ipynb"):
        return _numbered(call, document, _cells(document.whole()), arguments)
    return _numbered(call, document, document.text_chunks(keep_odd=True), arguments)


def _numbered(
    call: Call, document: Document, chunks: Iterable[str], arguments: Arguments
) -> Answer:
    offset, limit, column = (arguments.get(name) for name in ("offset", "limit", "column"))
    return with_trailer(
        document,
        offset,
        call.settings.max_output_chars,
        lambda budget: read_lines(chunks, offset, limit, column, budget),
    )


def _cells(data: bytes) -> list[str]:
    """A notebook's cells, or the plain text of what is none."""
    text = notebook_text(data)
    return [display(text if text is not None else decode(data).text)]


def _pdf(call: Call, document: Document, arguments: Arguments) -> Answer:
    binary = binary_of(document) or Answer("")
    if not has_extractor():
        return Answer(f"{binary.text}. {HINT}")
    document.require_size(document.shown)
    text = pdf_text(document.whole())
    if text is None:
        return Answer(f"{binary.text}. {UNREADABLE}")
    return _numbered(call, document, [display(text)], arguments)


SPEC = ToolSpec(
    name="read",
    title="Read file",
    description=(
        "Read a file with line numbers (cat -n). 2,000 lines by default; a longer file says where "
        "to continue with offset. Images are returned as images, notebooks as cells with outputs, "
        "PDF files as text. Line numbers and the tab after them are not part of the file. Read a "
        "file before you edit it or write over it."
    ),
    parameters=(
        Parameter(
            "path",
            "string",
            "File to read, absolute or relative to the working directory",
            compat="file_path",
            required=True,
        ),
        Parameter("offset", "integer", "First line to read, 1-based", default=1, minimum=1),
        Parameter("limit", "integer", "Number of lines to read (2,000 by default)", minimum=1),
        Parameter(
            "column",
            "integer",
            "First character of the first line, to go on inside a very long line",
            default=1,
            minimum=1,
        ),
    ),
    handler=read,
    normal=False,
)
