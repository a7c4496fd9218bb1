"""Sizes as people read them, in the binary multiples that --max-file-size is given in."""

from __future__ import annotations

_UNITS = ("KB", "MB", "GB", "TB", "PB", "EB")


def size_text(size: int) -> str:
    """`512 bytes`, `2.4 MB`."""
    if size < 1024:
        return f"{size} byte" if size == 1 else f"{size} bytes"
    value = float(size)
    for unit in _UNITS:
        value /= 1024
        if value < 1023.95 or unit == _UNITS[-1]:
            break
    return f"{value:.1f} {unit}"
