"""Postings: for each gram (four bytes in a row), the blocks that contain it.

Keys are the exact bytes, big end first, so that a literal of three bytes is a range of keys. No
gram crosses a block's end, because no line does.

A posting is a list or, where that is not longer, one bit per block; the length says which. A list
begins with its first block (uint16, little end first); each further one is a byte, the step from
the one before; a byte of 255 adds that much and continues. Most steps fit, so this is little more
than half of plain 16-bit numbers, and numpy reads any number of lists in one go.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

STEP: Final = 255

_LONG_BYTES: Final = 256
"""If neighbouring lists have this many on average, it is better to copy them unchanged: gathering a
byte by its place takes 5 ns, copying some 0.4 µs."""


def bitmap_bytes(blocks: int) -> int:
    """The size of a posting kept as one bit per block."""
    return (blocks + 7) // 8


def marked(postings: Any, starts: Any, ends: Any, blocks: int) -> Any:
    """Which blocks are in one of the postings between these places."""
    width = bitmap_bytes(blocks)
    mask = np.zeros(blocks, bool)
    is_list = ends - starts != width
    for at in starts[~is_list].tolist():
        bits = np.unpackbits(postings[at : at + width], count=blocks, bitorder="little")
        np.logical_or(mask, bits.view(bool), out=mask)
    if is_list.any():
        starts, ends = starts[is_list], ends[is_list]
        mask[decoded(_joined(postings, starts, ends), ends - starts, 0)[0]] = True
    return mask


def _joined(postings: Any, starts: Any, ends: Any) -> Any:
    """Some stretches of the postings, one after the other.

    Those of neighbouring keys are neighbours, and are copied in one go where they are long.
    """
    sizes = ends - starts
    total = int(sizes.sum())
    cuts = np.flatnonzero(starts[1:] != ends[:-1])
    if total > _LONG_BYTES * len(cuts):
        firsts, pasts = starts[np.append(0, cuts + 1)], ends[np.append(cuts, len(ends) - 1)]
        runs = zip(firsts.tolist(), pasts.tolist(), strict=True)
        return np.concatenate([postings[first:past] for first, past in runs])
    heads = np.cumsum(sizes) - sizes
    return postings[np.arange(total) + np.repeat(starts - heads, sizes)]


def decoded(lists: Any, sizes: Any, bases: Any) -> tuple[Any, Any]:
    """The blocks in lists one after the other, and which bytes end one.

    The blocks of each list are counted from its base. Sums may overflow 32 bits; what is subtracted
    overflows as well, and half the memory is touched.
    """
    heads = np.cumsum(sizes) - sizes
    steps = lists.astype(np.int32)
    shown = lists != STEP
    steps[heads + 1] <<= 8
    shown[heads] = False
    shown[heads + 1] = True
    places = np.cumsum(steps, dtype=np.int32)
    before = places[heads] - steps[heads] - bases
    places -= np.repeat(before.astype(np.int32), sizes)
    return places[shown].astype(np.int64), shown
