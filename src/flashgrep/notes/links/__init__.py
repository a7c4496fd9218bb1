"""Links between notes: found in a text (`parse`), looked up over all notes (`index`), rewritten
after a move (`rewrite`), and limited to what somebody may see (`scoped`)."""
