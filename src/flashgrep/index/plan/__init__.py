"""From a pattern to the blocks that may match it. The door is `lookup`."""
