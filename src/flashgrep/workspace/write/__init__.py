"""Writes to the user's files: whole or not at all."""
