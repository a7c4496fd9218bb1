"""A note as a Yjs document: its text, its updates, how it is loaded."""
