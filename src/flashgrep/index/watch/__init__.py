"""Lists the tree and watches it for changes. The door is `tracker` and `changes`."""
