"""How clients reach the tools: lines (stdio, TCP, unix socket), HTTP, and the programs that serve.

Door: `daemon`, `lines.stdio`, `lines.join`, `lines.client`, `lines.unix_socket`; for `web` also
`access`, `http.guard`, `http.server` and `lines.messages`.
"""
