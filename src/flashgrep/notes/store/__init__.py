"""Notes on disk. The door: `catalogue`, `paths`, `database`; inside of notes `journal` too."""
