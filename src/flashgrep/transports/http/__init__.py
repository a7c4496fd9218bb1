"""MCP over HTTP: server, admission, open streams."""
