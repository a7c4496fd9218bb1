"""Links between notes: found in a text (`parse`), and asked of all notes (`index`)."""
