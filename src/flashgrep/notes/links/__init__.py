"""Links between notes: found in a text (`parse`), asked of all notes (`index`), and what somebody
may see of them (`scoped`)."""
