"""From a pattern to the blocks that may match it."""
