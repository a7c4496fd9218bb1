"""Our own state on disk: never a user's file."""
