"""Files as rows of bytes, in an exported index and on their way to a process that builds.

4 bytes   length of the name, little end first
8 bytes   length of the text
id        git's id of the text, as long as the hash makes it
name      bytes of the path
text
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

RECORD: Final = struct.Struct("<IQ")


class CarriedFile(NamedTuple):
    """One file."""

    name: bytes
    id: bytes
    text: bytes

    def packed(self) -> bytes:
        """The row of it."""
        return RECORD.pack(len(self.name), len(self.text)) + self.id + self.name + self.text


def read_carried(read: Callable[[int], bytes], id_bytes: int) -> Iterator[CarriedFile]:
    """The rows of a file that we wrote ourselves, up to its end."""
    while head := read(RECORD.size):
        name_bytes, text_bytes = RECORD.unpack(head)
        held, name = read(id_bytes), read(name_bytes)
        yield CarriedFile(name, held, read(text_bytes))
