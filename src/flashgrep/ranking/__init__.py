"""Ranks files by how well they answer a question; finds definitions.

The door is `question`, `path_kinds`, `rerank`, `scanned`, `symbols` and `words`; for the index also
`ranking`, `changed_files` and `format`, which hold the ranked index.
"""
