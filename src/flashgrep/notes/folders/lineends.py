"""Line ends of a file, kept beside a text that has LF alone.

    nothing             every line ends with LF, or there is one line
    "crlf" or "cr"      every line ends so
    {"main", "lines"}   the ends are mixed: the most frequent one, and for each line how it ends and
                        what it says: base64 of zlib of one byte a line (0 LF, 1 CRLF, 2 CR), then
                        three bytes of a hash a line

The hashes are there for a text that was changed since: lines that are still there keep their ends,
new ones get the most frequent end. What did not change comes back byte for byte either way.
"""

from __future__ import annotations

import base64
import binascii
import difflib
import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

_END: Final = re.compile(r"\r\n|\r|\n")
_NAMES: Final = {"\n": "lf", "\r\n": "crlf", "\r": "cr"}
_ENDS: Final = {name: end for end, name in _NAMES.items()}
_KINDS: Final = ("\n", "\r\n", "\r")
_HASH_BYTES: Final = 3
_COMPARED_LINES: Final = 2_000
"""Lines that changed; finding old among new ones takes the square of this."""
_PACKED_BYTES: Final = 64 * 1024 * 1024
"""What packed lines may unpack to: a note of nothing but line ends, several times over."""

LineEnds = str | dict[str, str] | None


def taken(text: str) -> tuple[str, LineEnds]:
    """The text with LF alone, and what to keep of its line ends."""
    if "\r" not in text:
        return text, None
    ends = _END.findall(text)
    plain = _END.sub("\n", text)
    if len(set(ends)) == 1:
        return plain, _NAMES[ends[0]]
    ((main, _),) = Counter(ends).most_common(1)
    kinds = bytes(map(_KINDS.index, ends))
    packed = zlib.compress(kinds + b"".join(_hashes(plain.split("\n")[:-1])))
    return plain, {"main": _NAMES[main], "lines": base64.b64encode(packed).decode()}


def given_back(text: str, kept: Any) -> str:
    """The text with the line ends of the file it came from; LF where nothing sound is kept."""
    if isinstance(kept, str):
        return text.replace("\n", _ENDS.get(kept, "\n"))
    if not isinstance(kept, dict):
        return text
    main = _ENDS.get(str(kept.get("main")), "\n")
    lines = text.split("\n")
    ends = _aligned(_hashes(lines[:-1]), *_unpacked(kept.get("lines")), main)
    for at, end in enumerate(ends[:-1]):
        # CR and then an empty line with LF would be read as one CRLF.
        if end == "\r" and not lines[at + 1] and ends[at + 1] == "\n":
            ends[at] = "\n"
    return "".join(line + end for line, end in zip(lines, [*ends, ""], strict=True))


def _hashes(lines: Iterable[str]) -> list[bytes]:
    return [hashlib.blake2b(line.encode(), digest_size=_HASH_BYTES).digest() for line in lines]


def _unpacked(packed: Any) -> tuple[list[bytes], list[str]]:
    """The hashes and the ends of the lines there were; none where they cannot be read."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(str(packed)), _PACKED_BYTES)
        count, rest = divmod(len(data), 1 + _HASH_BYTES)
        ends = [_KINDS[kind] for kind in data[:count]]
    except (zlib.error, binascii.Error, ValueError, IndexError):
        return [], []
    if rest:
        return [], []
    hashes = data[count:]
    return [hashes[at : at + _HASH_BYTES] for at in range(0, len(hashes), _HASH_BYTES)], ends


def _aligned(
    now: Sequence[bytes], before: Sequence[bytes], ends: Sequence[str], main: str
) -> list[str]:
    """The end of each line there is now."""
    first = _common(now, before)
    last = _common(now[first:][::-1], before[first:][::-1])
    found = [main] * len(now)
    found[:first] = ends[:first]
    if last:
        found[-last:] = ends[-last:]
    changed, old = now[first : len(now) - last], before[first : len(before) - last]
    if max(len(changed), len(old)) <= _COMPARED_LINES:
        matcher = difflib.SequenceMatcher(None, old, changed, autojunk=False)
        for block in matcher.get_matching_blocks():
            start = first + block.b
            found[start : start + block.size] = ends[first + block.a :][: block.size]
    return found


def _common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """How many lines both begin with."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
