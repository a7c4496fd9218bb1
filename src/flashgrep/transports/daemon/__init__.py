"""`flashgrep serve`, the proxy of `flashgrep mcp`, the owner of the notes. Each file is a door."""
