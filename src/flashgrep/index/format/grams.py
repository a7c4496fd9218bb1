"""Four bytes in a row, as a number: what the postings are keyed by.

Keys are the exact bytes, big end first, so that a literal of three bytes is a range of keys. No
gram crosses a block's end, because no line does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
