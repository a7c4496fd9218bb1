"""Notes from and to folders of files."""
