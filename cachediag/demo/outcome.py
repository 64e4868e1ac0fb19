"""What the demo has to say: the session, a broken pair, the cause, the next commands."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from cachediag import findings as catalogue
from cachediag.analysis import Request
from cachediag.model import Json
from cachediag.report import documents
from cachediag.report.diff import DiffReport, title
from cachediag.report.session import RequestsReport, Tally, tally
from cachediag.report.style import BAD, GOOD, Paragraph, commands, count, line

__all__ = ["INTRODUCTION", "OutcomeReport", "document"]

INTRODUCTION = (
    "Client, prompts and model server are made up. The proxy between them is real, and so are the"
    " session that it records and what is found in it."
)
"""What must be said before anything else."""


def document(name: str, requests: tuple[Request, ...]) -> dict[str, Json]:
    """`cachediag.demo/1`: what was recorded and what was found.

    Args:
        name: how to name the session in a command.
        requests: the session's requests.
    """
    causes = tally(requests)
    return {
        "schema": "cachediag.demo/1",
        "session": name,
        "requests": len(requests),
        "lanes": _lanes(requests),
        "findings": [documents.finding(row.finding) | {"requests": row.requests} for row in causes],
        "verdict": _verdict(requests, causes),
        "next": list(_next(name, causes)),
    }


def _lanes(requests: tuple[Request, ...]) -> list[dict[str, Json]]:
    kinds = {request.lane: request.kind for request in reversed(requests)}
    names = dict.fromkeys(request.lane for request in requests)
    return [
        {
            "lane": name,
            "kind": kinds[name],
            "requests": sum(request.lane == name for request in requests),
        }
        for name in names
    ]


def _verdict(requests: tuple[Request, ...], causes: tuple[Tally, ...]) -> str:
    if not causes:
        return "No request broke the prefix that it shares with an earlier one."
    found, broken = causes[0].finding, causes[0].requests
    later = sum(request.shared_blocks is not None for request in requests)
    return (
        f"The cause is {found.code}, {title(found.code)}: {found.path} changed in {broken} of"
        f" {count(later, 'later request')}. Behind it stand {_again(requests):,} bytes of prompt"
        " that were sent before, and that a server with a prefix cache has to prefill again."
    )


def _again(requests: tuple[Request, ...]) -> int:
    """Bytes of prompt that are shared once the causes are undone, but not as sent."""
    pairs = [request.comparison for request in requests if request.comparison and request.breaks]
    return sum(
        len(block.canonical)
        for pair in pairs
        for block in pair.b.blocks[pair.shared_blocks + 1 : pair.reusable_blocks]
    )


def _next(name: str, causes: tuple[Tally, ...]) -> Mapping[str, str]:
    """The commands to go on with, and what each is for."""
    codes = dict.fromkeys(row.finding.code for row in causes)
    return {
        f"cachediag diff {name}": "every request against its parent",
        f"cachediag show {name} 0": "a request, block by block",
        **{f"cachediag explain {code}": "what it is, and what to do" for code in codes},
        **(
            {f"cachediag rules new {name} -o rules.toml": "write the rule that removes it"}
            if any(catalogue.load(code).rule for code in codes)
            else {}
        ),
        "cachediag record -- claude": "record your own",
    }


@dataclass(frozen=True, slots=True)
class OutcomeReport:
    """The demo as it is shown in a terminal."""

    name: str
    """How to name the session in a command."""
    requests: tuple[Request, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report's parts."""
        causes = tally(self.requests)
        lanes = count(len(_lanes(self.requests)), "lane")
        yield line((self.name, "bold"), f"   {count(len(self.requests), 'request')}   {lanes}")
        yield Text()
        yield RequestsReport(self.requests)
        yield Text()
        if causes:
            yield from self._pair(causes[0])
        yield Paragraph(_verdict(self.requests, causes), BAD if causes else GOOD)
        yield Text()
        yield from commands(_next(self.name, causes))

    def _pair(self, cause: Tally) -> Iterator[DiffReport | Text]:
        """The pair in which the cause was seen first."""
        request = next(each for each in self.requests if each.info.index == cause.first)
        held = request.comparison if request.parent == cause.parent else request.against_latest
        if held is not None:
            heading = f"request {cause.parent} → {cause.first}   lane {request.lane}"
            yield DiffReport(held, heading)
            yield Text()
