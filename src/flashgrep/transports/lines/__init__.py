"""JSON-RPC, one message per line, on stdio, TCP and unix sockets.

Door: `client`, `join`, `messages`, `offers`, `sockets`, `stdio`, `unix_socket`.
"""
