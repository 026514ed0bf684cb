"""A server made with the official Python SDK, with a tool for each kind of result."""

import pathlib
import sys

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from pydantic import BaseModel, Field

server = MCPServer("python")


class Total(BaseModel):
    """What add returns."""

    total: int = Field(description="The sum.")


@server.tool()
def echo(text: str, times: int = 1) -> str:
    """Return the text, as often as asked for."""
    return " ".join([text] * times)


@server.tool()
def add(a: int, b: int) -> Total:
    """Add two numbers."""
    return Total(total=a + b)


@server.tool()
def fail(why: str | None = None) -> str:
    """Fail."""
    raise ValueError(why or "no reason")


@server.tool()
def picture() -> Image:
    """Return a picture."""
    return Image(data=b"\x89PNG\r\n\x1a\nnot really", format="png")


@server.tool()
async def slow(steps: int, ctx: Context, until: str = "") -> str:
    """Report progress, then finish: at once, or when somebody has made the file until."""
    for i in range(steps):
        await ctx.report_progress(i + 1, steps, f"step {i + 1}")
    while until and not pathlib.Path(until).exists():
        await anyio.sleep(0.01)
    return "done"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
