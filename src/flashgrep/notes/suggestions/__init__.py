"""Edits become suggestions."""
