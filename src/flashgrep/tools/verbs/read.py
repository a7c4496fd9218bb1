"""read and view: a file with line numbers; images, directories, notebooks and PDF text."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterable
from typing import Any

from flashgrep.errors import InvalidParams
from flashgrep.limits import size_text
from flashgrep.mount import Document
from flashgrep.tools.dispatch.call import Answer, Call
from flashgrep.tools.dispatch.spec import Arguments, Parameter, ToolSpec, path_row
from flashgrep.tools.format.numbered import (
    binary_of,
    image_of,
    read_lines,
    view_lines,
    with_trailer,
)
from flashgrep.workspace.text import decode, display

log = logging.getLogger(__name__)


# ── PDF ──────────────────────────────────────────────────────────────────────────────────────────
# The text of PDF files, where the `pdf` extra is installed.


HINT = "Its text can be read where the server was installed with the pdf extra: flashgrep[pdf]."
UNREADABLE = "No text could be extracted from it."
_PAGES = re.compile(r"(\d+)(?:\s*-\s*(\d+))?")


def has_extractor() -> bool:
    """Whether a PDF extractor is installed."""
    try:
        import pypdf  # noqa: F401
    except ImportError:
        return False
    return True


def page_range(pages: str) -> range:
    """The pages of "3" or "2-5", counted from 1; anything else is refused."""
    found = _PAGES.fullmatch(pages.strip())
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= first <= last:
        raise InvalidParams(f'pages is {pages!r}; give one page, "3", or a range, "2-5"')
    return range(first, last + 1)


def pdf_text(data: bytes, wanted: range | None = None) -> str | None:
    """The text page by page, of all pages or those wanted; None where the file yields none."""
    import pypdf

    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        pages = {
            number: page.extract_text() or ""
            for number, page in enumerate(reader.pages, 1)
            if wanted is None or number in wanted
        }
    except Exception:  # a damaged PDF raises almost anything
        log.info("a PDF could not be read", exc_info=True)
        return None
    if not any(page.strip() for page in pages.values()):
        return None
    return "\n".join(f"[page {number}]\n{page}" for number, page in pages.items())


# ── notebooks ────────────────────────────────────────────────────────────────────────────────────
# Jupyter notebooks as people see them: cells in order, each with its outputs, as plain text.


_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def notebook_text(data: bytes) -> str | None:
    """The cells of a notebook; None if the bytes are not a notebook."""
    try:
        document = json.loads(data)
        cells = document["cells"]
        return "\n".join(_cell(number, cell) for number, cell in enumerate(cells, 1))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _cell(number: int, cell: dict[str, Any]) -> str:
    name = f" id={cell['id']}" if cell.get("id") else ""
    parts = [f"[cell {number}: {cell['cell_type']}{name}]", _joined(cell.get("source", ""))]
    for output in cell.get("outputs") or ():
        parts += (f"[output of cell {number}: {output['output_type']}]", _output(output))
    return "\n".join(part for part in parts if part)


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return _joined(output.get("text", ""))
    if output["output_type"] == "error":
        trace = _COLOUR.sub("", "\n".join(output.get("traceback") or ()))
        return trace or f"{output.get('ename')}: {output.get('evalue')}"
    data = output.get("data") or {}
    if "text/plain" in data:
        others = [_summary(kind, value) for kind, value in data.items() if "image/" in kind]
        return "\n".join([_joined(data["text/plain"]), *others])
    return "\n".join(_summary(kind, value) for kind, value in data.items())


def _summary(kind: str, value: Any) -> str:
    return f"({kind}, {size_text(len(_joined(value)) if isinstance(value, str | list) else 0)})"


def _joined(source: str | list[str]) -> str:
    return (source if isinstance(source, str) else "".join(source)).rstrip("\n")


# ── read ─────────────────────────────────────────────────────────────────────────────────────────


def read(call: Call, arguments: Arguments) -> Answer:
    """Show a file's lines from `offset` on."""
    target = call.target(arguments.text("path"), "document")
    wants_lines = bool(arguments.given & {"offset", "limit", "column"})
    if pages := arguments.get("pages"):
        page_range(pages)  # a bad one is refused whatever the file is
    with target.mount.read(target.path, arguments.find("view")) as document:
        answer = image_of(document, wants_lines) or _read_lines(call, document, arguments)
        document.was_shown()
    return answer


def _read_lines(call: Call, document: Document, arguments: Arguments) -> Answer:
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
    limit, column = arguments.get("limit"), arguments.get("column")
    offset = max(1, arguments.get("offset"))  # clients that count from 0 mean the first line
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
    pages = arguments.get("pages")
    text = pdf_text(document.whole(), page_range(pages) if pages else None)
    if text is None:
        return Answer(f"{binary.text}. {UNREADABLE}")
    return _numbered(call, document, [display(text)], arguments)


READ = ToolSpec(
    name="read",
    title="Read file",
    description=(
        "Read a file with line numbers (cat -n). 2,000 lines by default; a longer file says where "
        "to continue with offset. Images are returned as images, notebooks as cells with outputs, "
        "PDF files as text. Line numbers and the tab after them are not part of the file. Read a "
        "file before you edit it or write over it."
    ),
    parameters=(
        path_row("File to read, absolute or relative to the working directory"),
        Parameter("offset", "integer", "First line to read, 1-based", default=1, minimum=0),
        Parameter("limit", "integer", "Number of lines to read (2,000 by default)", minimum=1),
        Parameter("pages", "string", 'Pages of a PDF to read, such as "3" or "2-5"'),
        Parameter(
            "column",
            "integer",
            "First character of the first line, to continue inside a very long line",
            default=1,
            minimum=1,
        ),
    ),
    handler=read,
    normal=False,
)


# ── view ─────────────────────────────────────────────────────────────────────────────────────────
# view: a file with line numbers, an image, or a directory two levels deep.


def view(call: Call, arguments: Arguments) -> Answer:
    """Show what is at a path."""
    view_range = arguments.get("view_range")
    _check_range(view_range)
    target = call.target(arguments.text("path"), "either")
    mount, chars = target.mount, call.settings.max_output_chars
    if mount.is_folder(target.path):
        if view_range:
            raise InvalidParams(f"{target.shown} is a directory; view_range is for files")
        return Answer(mount.outline(target.path, chars))
    with mount.read(target.path) as document:
        answer = image_of(document, bool(view_range)) or binary_of(document)
        answer = answer or _view_lines(document, view_range, chars)
        document.was_shown()
    return answer


def _view_lines(document: Document, view_range: list[int] | None, chars: int) -> Answer:
    document.require_size(document.shown)
    return with_trailer(
        document,
        view_range[0] if view_range else 1,
        chars,
        lambda budget: view_lines(document.text_chunks(keep_odd=True), view_range, budget),
    )


def _check_range(view_range: list[int] | None) -> None:
    if view_range and not 1 <= view_range[0] <= view_range[1]:
        raise InvalidParams(
            f"view_range is {view_range}; it must be [start, end] with 1 <= start <= end"
        )


VIEW = ToolSpec(
    name="view",
    title="View file or directory",
    description=(
        "Show a file with line numbers, an image, or a directory (2 levels). view_range "
        "[start, end] shows only those lines (1-based, inclusive; the end may be past the end of "
        "the file). Lines over 2,000 characters are cut. Line numbers and the tab after them are "
        "not part of the file."
    ),
    parameters=(
        path_row("File or directory, absolute or relative to the working directory"),
        Parameter("view_range", "line_range", "Lines to show: [start, end], 1-based, inclusive"),
    ),
    handler=view,
    compat=False,
)
