"""Ranks files by how well they answer a question; finds definitions."""
