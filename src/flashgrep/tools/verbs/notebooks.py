"""Jupyter notebooks as people see them: cells in order, each with its outputs, as plain text."""

from __future__ import annotations

import json
import re
from typing import Any

from flashgrep.tools.sizes import size_text

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def notebook_text(data: bytes) -> str | None:
    """The cells of a notebook; None where the bytes are no notebook."""
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
