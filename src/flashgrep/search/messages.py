"""What the server and its processes say to each other, through pipes.

Messages are `marshal` values behind a length of four bytes: plain data between two halves of one
program of one version, nothing that could carry code.
"""

from __future__ import annotations

import marshal
import os
import struct
from typing import Any

LENGTH = struct.Struct("<I")


def read_message(fd: int) -> Any:
    """The next message, or None at the end of the stream."""
    head = _exactly(fd, LENGTH.size)
    body = _exactly(fd, LENGTH.unpack(head)[0]) if head else b""
    return marshal.loads(body) if body else None  # noqa: S302 - our own other half wrote it


def write_message(fd: int, message: Any) -> None:
    """Send a message whole."""
    body = marshal.dumps(message)
    data = memoryview(LENGTH.pack(len(body)) + body)
    while data:
        data = data[os.write(fd, data) :]


def _exactly(fd: int, size: int) -> bytes:
    pieces = []
    while size:
        piece = os.read(fd, min(size, 1 << 20))
        if not piece:
            return b""
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
