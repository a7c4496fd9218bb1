"""Postings: for each gram, four bytes in a row, the blocks that hold it.

A posting is a list or, where that is not longer, one bit per block; the length tells which. A list
begins with its first block (uint16, little end first); each further one is the step from the one
before, a byte; a byte of 255 adds that much and goes on. Most steps fit, so this is little more
than half of plain 16-bit numbers, and numpy reads any number of lists in one go.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

# ── grams ────────────────────────────────────────────────────────────────────────────────────────
# Four bytes in a row, as a number: what the postings are keyed by.
#
# Keys are the exact bytes, big end first, so that a literal of three bytes is a range of keys. No
# gram crosses a block's end, because no line does.


Keys = npt.NDArray[np.uint32]


def block_keys(block: npt.NDArray[np.uint8]) -> Keys:
    """The distinct keys of a block, sorted."""
    if len(block) < 4:
        return np.empty(0, np.uint32)
    keys = np.empty(len(block) - 3, np.uint32)
    np.left_shift(block[:-3], np.uint32(24), out=keys, dtype=np.uint32)
    for place, shift in ((block[1:-2], 16), (block[2:-1], 8), (block[3:], 0)):
        keys |= np.left_shift(place, np.uint32(shift), dtype=np.uint32)
    keys.sort()
    fresh = np.empty(len(keys), bool)
    fresh[0] = True
    np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    return keys[fresh]


# ── postings ─────────────────────────────────────────────────────────────────────────────────────


_STEP: Final = 255
_PORTION: Final = 1 << 20


def bitmap_bytes(blocks: int) -> int:
    """The size of a posting kept as one bit per block."""
    return (blocks + 7) // 8


def inverted(blocks: list[Keys]) -> tuple[Any, Any, Any]:
    """Distinct keys, where the postings of each begin, and the postings; empties `blocks`."""
    count = len(blocks)
    pairs = _pairs(blocks)
    if not len(pairs):
        return np.empty(0, np.uint32), np.zeros(1, np.uint32), np.empty(0, np.uint8)
    pairs.sort()
    ids = pairs.astype(np.uint16)
    pairs >>= np.uint64(16)
    fresh = np.ones(len(pairs), bool)
    np.not_equal(pairs[1:], pairs[:-1], out=fresh[1:])
    heads = np.flatnonzero(fresh)
    keys = pairs[heads].astype(np.uint32)
    del pairs, fresh
    return keys, *_encoded(ids, np.append(heads, len(ids)), count)


def _pairs(blocks: list[Keys]) -> Any:
    """Key and block of every gram in one number; each block's keys are let go once they are in."""
    pairs = np.empty(sum(len(keys) for keys in blocks), np.uint64)
    end = len(pairs)
    while blocks:
        keys = blocks.pop()
        start = end - len(keys)
        np.left_shift(keys, np.uint64(16), out=pairs[start:end], dtype=np.uint64)
        pairs[start:end] |= np.uint64(len(blocks))
        end = start
    return pairs


def _encoded(ids: Any, heads: Any, blocks: int) -> tuple[Any, Any]:
    """Offsets and postings of all keys, a portion at a time: the tables in between are large."""
    sizes, written = [], []
    at = 0
    while at < len(heads) - 1:
        past = max(at + 1, int(np.searchsorted(heads, heads[at] + _PORTION)) - 1)
        portion = heads[at : past + 1]
        size, out = _portion(ids[portion[0] : portion[-1]], portion - portion[0], blocks)
        sizes.append(size)
        written.append(out)
        at = past
    offsets = np.zeros(len(heads), np.uint32)
    np.cumsum(np.concatenate(sizes), out=offsets[1:])
    return offsets, np.concatenate(written)


def _portion(ids: Any, heads: Any, blocks: int) -> tuple[Any, Any]:
    counts, heads = np.diff(heads), heads[:-1]
    gaps = np.diff(ids.astype(np.int32), prepend=0)
    lengths = gaps // _STEP + 1
    lengths[heads] = 2
    width = bitmap_bytes(blocks)
    sizes = np.add.reduceat(lengths, heads)
    dense = sizes >= width
    sizes = np.where(dense, width, sizes)
    offsets = np.cumsum(sizes) - sizes
    out = np.full(int(sizes.sum()), _STEP, np.uint8)
    starts = np.repeat(offsets, counts)
    _place_lists(out, (ids, gaps, lengths, heads), starts, np.repeat(~dense, counts))
    for at in np.flatnonzero(dense):
        mask = np.zeros(width * 8, np.uint8)
        mask[ids[heads[at] : heads[at] + counts[at]]] = 1
        out[offsets[at] : offsets[at] + width] = np.packbits(mask, bitorder="little")
    return sizes, out


def _place_lists(out: Any, entries: tuple[Any, ...], starts: Any, sparse: Any) -> None:
    """Write all lists at once: a loop over a million keys would take a minute."""
    ids, gaps, lengths, heads = entries
    ends = np.cumsum(lengths)
    before = np.zeros(len(ids), np.int64)  # bytes of the lists before this entry's own
    before[heads] = np.diff(ends[heads] - 2, prepend=0)
    places = starts + ends - 1 - np.cumsum(before)
    out[places[sparse]] = gaps[sparse] % _STEP
    first = heads[sparse[heads]]
    out[places[first] - 1] = ids[first] & 0xFF
    out[places[first]] = ids[first] >> 8


def marked(postings: Any, starts: Any, ends: Any, blocks: int) -> Any:
    """Which blocks stand in one of the postings between these places."""
    width = bitmap_bytes(blocks)
    mask = np.zeros(blocks, bool)
    is_list = ends - starts != width
    for at in starts[~is_list].tolist():
        bits = np.unpackbits(postings[at : at + width], count=blocks, bitorder="little")
        np.logical_or(mask, bits.view(bool), out=mask)
    if is_list.any():
        starts, sizes = starts[is_list], (ends - starts)[is_list]
        heads = np.cumsum(sizes) - sizes
        places = np.arange(int(sizes.sum())) + np.repeat(starts - heads, sizes)
        mask[decoded(postings[places], sizes)[0]] = True
    return mask


def decoded(lists: Any, sizes: Any, bases: Any = 0) -> tuple[Any, Any]:
    """The blocks in lists that stand one behind the other, and which bytes end one.

    The blocks of each list are counted from a base of its own. What is added up may go beyond 32
    bits; what is taken off again does so too, and half the memory is touched.
    """
    heads = np.cumsum(sizes) - sizes
    steps = lists.astype(np.int32)
    shown = lists != _STEP
    steps[heads + 1] <<= 8
    shown[heads] = False
    shown[heads + 1] = True
    places = np.cumsum(steps, dtype=np.int32)
    before = places[heads] - steps[heads] - bases
    places -= np.repeat(before.astype(np.int32), sizes)
    return places[shown].astype(np.int64), shown
