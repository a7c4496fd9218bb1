"""`flashgrep serve`, the proxy of `flashgrep mcp`, and the owner of the notes. Each file is a
door."""
