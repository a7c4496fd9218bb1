"""Finds the grams of blocks and encodes them as postings (see `format.postings`)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flashgrep.index.format.postings import STEP, bitmap_bytes
from flashgrep.index.format.segment import Keys


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


_PORTION: Final = 1 << 20


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
    lengths = gaps // STEP + 1
    lengths[heads] = 2
    width = bitmap_bytes(blocks)
    sizes = np.add.reduceat(lengths, heads)
    dense = sizes >= width
    sizes = np.where(dense, width, sizes)
    offsets = np.cumsum(sizes) - sizes
    out = np.full(int(sizes.sum()), STEP, np.uint8)
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
    out[places[sparse]] = gaps[sparse] % STEP
    first = heads[sparse[heads]]
    out[places[first] - 1] = ids[first] & 0xFF
    out[places[first]] = ids[first] >> 8
