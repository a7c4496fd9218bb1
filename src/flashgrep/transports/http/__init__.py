"""MCP over HTTP: guard, routes, connections. Door: `guard`, `server`; for `serve` `connections`."""
