"""Notes on disk: journal, catalogue, database, paths."""
