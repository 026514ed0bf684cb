"""A server made with the official Python SDK of either version, or with fastmcp (argument fastmcp)."""

import sys

if sys.argv[1:] == ["fastmcp"]:
    from fastmcp import FastMCP as Server
else:
    try:
        from mcp.server import MCPServer as Server
    except ImportError:  # 1.x
        from mcp.server.fastmcp import FastMCP as Server

server = Server("slow")


@server.tool()
def echo(text: str) -> str:
    """Return the text."""
    return text


server.run("stdio")
