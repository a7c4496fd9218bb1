"""Trees of documents behind the verbs: files, notes, and notes that another process owns."""
