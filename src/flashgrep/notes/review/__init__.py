"""Suggestions are listed, decided and undone."""
