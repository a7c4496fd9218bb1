"""JSON-RPC over lines: pipes, TCP and Unix sockets."""
