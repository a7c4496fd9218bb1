"""What verbs work on: files, notes, and notes that another process owns."""
