"""How one exchange looks in a terminal: what was sent, block by block."""

import shlex
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from cachediag.model import Block, ExchangeInfo, Json, Prompt
from cachediag.protocol import jsontext
from cachediag.protocol.blocks import named
from cachediag.report.safe import printable
from cachediag.report.session import seconds
from cachediag.report.style import DIM, commands, line

__all__ = ["ExchangeReport"]

_EXCERPT = 200


@dataclass(frozen=True, slots=True)
class ExchangeReport:
    """One request's blocks in cache order, and what was recorded beside them."""

    info: ExchangeInfo
    prompt: Prompt | None
    given: str = ""
    """How to name the session in the next command."""
    incoming: bool = False
    """This is what the client sent, not what went on to the server."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the heading and a line a block."""
        info = self.info
        status = info.status if info.status is not None else "no response"
        yield line(
            (f"request {info.index}", "bold"),
            f"   {printable(info.method)} {printable(info.path)}   {status}"
            f"   {printable(info.model or '')}",
        )
        yield line(
            (
                f"{info.request_size:,} bytes sent, {info.response_size:,} received"
                f"{', first token after ' + seconds(info) if seconds(info) else ''}",
                DIM,
            )
        )
        for note in (*info.notes, *((info.error,) if info.error else ())):
            yield line(("! ", "yellow"), printable(note))
        yield Text()
        if self.prompt is None:
            yield line(("no prompt: not a request to a model", DIM))
            yield Text()
            yield from commands(self._next())
            return
        yield line((f"{'bytes':>17}  {'kind':<12}  {'path':<26}  text", DIM))
        for block in self.prompt.blocks:
            marker = "[cache marker] " if block.marker else ""
            yield line(
                f"{block.start:>8,}–{block.end:<8,}  {_kind(block):<12}  "
                f"{printable(block.path):<26}  ",
                (f"{marker}{_excerpt(block)}", DIM),
            )
        yield Text()
        yield from commands(self._next())

    def _next(self) -> dict[str, str]:
        number = self.info.index
        given = f" {shlex.quote(self.given)}" if self.given else ""
        if self.prompt is not None:
            incoming = " --incoming" if self.incoming else ""
            shown = {
                f"cachediag diff{given}{incoming}": "what broke the prefixes",
                f"cachediag show{given} {number} --body": "its bytes, as they came",
            }
        else:
            shown = {f"cachediag show{given} {number} --response": "what came back"}
        return {printable(each): purpose for each, purpose in shown.items()}


def _kind(block: Block) -> str:
    kind = printable(block.kind)
    return kind if len(kind) <= 12 else f"{kind[:11]}…"


def _excerpt(block: Block) -> str:
    return printable(_words(jsontext.decode(block.canonical)).strip()[:_EXCERPT])


def _words(value: Json) -> str:
    """What a person reads of a block: its name, its text."""
    if not isinstance(value, dict):
        return str(value)
    inner = named(value)
    for key in ("name", "text", "thinking"):
        if isinstance(inner.get(key), str):
            return str(inner[key])
    content = value.get("content")
    if isinstance(content, list) and content:
        return _words(content[0])
    return content if isinstance(content, str) else ""
