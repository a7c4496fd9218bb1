"""One agent-facing verb per file; knows no transport."""
