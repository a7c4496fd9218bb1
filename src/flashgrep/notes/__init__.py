"""Notes that people edit together: documents, their journal, suggestions, links."""
