"""What the tree looks like and what changes in it."""
