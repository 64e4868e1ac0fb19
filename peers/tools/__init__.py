"""One file a tool; this is the table of them."""

from peers.tool import Tool
from peers.tools import cachediag, cachelint, ctxdiff, kvlint, prefixguard, promptcachelint

__all__ = ["TOOLS"]

TOOLS: tuple[Tool, ...] = (
    cachediag.TOOL,
    promptcachelint.TOOL,
    ctxdiff.TOOL,
    cachelint.TOOL,
    prefixguard.TOOL,
    kvlint.TOOL,
)
