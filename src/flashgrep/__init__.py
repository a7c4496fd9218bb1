"""flashgrep: Claude Code's file tools for any agent, over MCP."""

__all__ = ["__version__"]
__version__ = "0.1.0"
