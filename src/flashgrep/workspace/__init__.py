"""The only code that touches the user's files."""
