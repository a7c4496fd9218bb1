"""read: a file with line numbers, from a line on; images, notebooks and PDF text too."""

from __future__ import annotations

from collections.abc import Iterable

from flashgrep.tools.answer import Answer
from flashgrep.tools.arguments import Arguments
from flashgrep.tools.budget import Budget
from flashgrep.tools.documents import HINT, UNREADABLE, has_extractor, pdf_text
from flashgrep.tools.notebooks import notebook_text
from flashgrep.tools.places import VIEW, note_path, refuse_view
from flashgrep.tools.registry import Parameter, ToolSpec
from flashgrep.tools.showing import binary_of, image_of, open_source, remember
from flashgrep.tools.source import Source
from flashgrep.tools.toolbox import Call
from flashgrep.tools.viewing import read_lines
from flashgrep.workspace.textfile import decode, display


def read(call: Call, arguments: Arguments) -> Answer:
    """Show a file's lines from `offset` on."""
    note = note_path(call, arguments.text("path"))
    if note is not None:
        from flashgrep.tools.note_reading import read_note  # with the engine of the notes

        return read_note(call, note, arguments)
    refuse_view(arguments)
    place = call.services.scope.place(arguments.text("path"))
    wants_lines = bool(arguments.given & {"offset", "limit", "column"})
    with open_source(call, place) as source:
        answer = image_of(source, wants_lines) or _lines(call, source, arguments)
        remember(call, source)
    return answer


def _lines(call: Call, source: Source, arguments: Arguments) -> Answer:
    if source.head.startswith(b"%PDF-"):
        return _document(call, source, arguments)
    binary = binary_of(source)
    if binary is not None:
        return binary
    source.require_size(source.place.shown)
    if source.place.path.lower().endswith(b".ipynb"):
        return _numbered(call, _cells(source.whole()), arguments)
    return _numbered(call, source.text_chunks(keep_odd=True), arguments)


def _numbered(call: Call, chunks: Iterable[str], arguments: Arguments) -> Answer:
    budget = Budget(call.settings.max_output_chars)
    offset, limit, column = (arguments.get(name) for name in ("offset", "limit", "column"))
    return Answer(read_lines(chunks, offset, limit, column, budget))


def _cells(data: bytes) -> list[str]:
    """A notebook's cells, or the plain text of what is none."""
    text = notebook_text(data)
    return [display(text if text is not None else decode(data).text)]


def _document(call: Call, source: Source, arguments: Arguments) -> Answer:
    binary = binary_of(source) or Answer("")
    if not has_extractor():
        return Answer(f"{binary.text}. {HINT}")
    source.require_size(source.place.shown)
    text = pdf_text(source.whole())
    if text is None:
        return Answer(f"{binary.text}. {UNREADABLE}")
    return _numbered(call, [display(text)], arguments)


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
            notes_help="Path of the note, such as Folder/Note.md",
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
        VIEW,
    ),
    notes=(
        "Notes are read by kb://Folder/Note.md; pending suggestions are shown as if accepted, and "
        "listed at the end."
    ),
    notes_alone=(
        "Read a note with line numbers (cat -n), by its path such as Folder/Note.md. 2,000 lines "
        "by default; a longer note says where to continue with offset. Pending suggestions are "
        "shown as if accepted, and listed at the end. Line numbers and the tab after them are not "
        "part of the note. Read a note before you edit it."
    ),
    notes_title="Read note",
    handler=read,
    normal=False,
)
