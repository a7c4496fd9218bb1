"""Links between notes: found in a text (`parse`), asked of all notes (`index`), mended after a move
(`rewrite`), and what somebody may see of them (`scoped`)."""
