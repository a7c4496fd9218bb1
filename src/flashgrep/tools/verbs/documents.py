"""The text of PDF files, where the `pdf` extra is installed."""

from __future__ import annotations

import io
import logging

log = logging.getLogger(__name__)

HINT = "Its text can be read where the server was installed with the pdf extra: flashgrep[pdf]."
UNREADABLE = "No text could be extracted from it."


def has_extractor() -> bool:
    """Whether a PDF extractor is installed."""
    try:
        import pypdf  # noqa: F401
    except ImportError:
        return False
    return True


def pdf_text(data: bytes) -> str | None:
    """The text page by page; None where the file yields none."""
    import pypdf

    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        pages = [page.extract_text() or "" for page in reader.pages]
    except Exception:  # a damaged PDF raises almost anything
        log.info("a PDF could not be read", exc_info=True)
        return None
    if not any(page.strip() for page in pages):
        return None
    return "\n".join(f"[page {number}]\n{page}" for number, page in enumerate(pages, 1))
