"""What the tree looks like and what changes in it. The door is `tracker` and `changes`."""
