"""One tool per file, or two that share their work; `catalog` finds them by their rows."""
