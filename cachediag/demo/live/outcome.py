"""What the live demo has to say, beside what `verify` says of its experiment."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from cachediag.backends.sandbox import MODEL_SPEC
from cachediag.demo.live.found import Found
from cachediag.demo.live.steps import LiveDemo
from cachediag.model import Json
from cachediag.report import documents
from cachediag.report.diff import DiffReport
from cachediag.report.safe import printable
from cachediag.report.session import RequestsReport
from cachediag.report.style import DIM, commands, count, line

__all__ = ["EndReport", "FoundReport", "document", "introduction"]


def introduction(asked: LiveDemo) -> str:
    """What must be said before anything else.

    Args:
        asked: what was asked for.
    """
    client = "Claude Code plays a script" if asked.client == "claude" else "A made-up client talks"
    return (
        f"{client} to a real vllm-mlx {asked.release} with a tiny model, on this machine. The"
        " release's own removal of the billing header is turned off in a copy. It takes about"
        f" {count(asked.minutes, 'minute')} on two cores, and Ctrl-C ends it."
    )


@dataclass(frozen=True, slots=True)
class FoundReport:
    """What was recorded and found, before anything is replayed."""

    found: Found

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report's parts."""
        found = self.found
        requests = count(len(found.requests), "request")
        prefix = f"prefix {found.prefix_tokens:,} tokens"
        yield line((printable(found.source.name), "bold"), f"   {requests}   {prefix}")
        yield Text()
        yield RequestsReport(found.requests)
        yield Text()
        if found.pair is not None:
            heading = f"request {found.pair.a} → {found.pair.b}"
            yield DiffReport(found.pair.comparison, heading, found.pair.view)
            yield Text()
        rules = found.generated.ruleset.enabled
        yield line(
            f"{count(len(rules), 'rule')} from it: ",
            printable(", ".join(rule.id for rule in rules)),
        )


@dataclass(frozen=True, slots=True)
class EndReport:
    """How to go on, and what is left on the disk."""

    session: str
    """How to name the session in a command."""
    asked: LiveDemo
    sandbox: Path

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines."""
        yield from commands(self._next())
        yield Text()
        place = str(self.sandbox)
        kept = f"The sandbox is kept for the next time: {printable(place)}"
        yield Text(kept, DIM, overflow="fold")
        yield Text(f"Remove it with: rm -r {printable(quote(place))}", DIM, overflow="fold")

    def _next(self) -> Mapping[str, str]:
        # The session knows its profile.
        by = f"{self.session} --model {MODEL_SPEC}"
        release = self.asked.release
        return {
            f"cachediag analyze {by}": "what it costs",
            f"cachediag rules new {by} -o rules.toml": "the rule",
            f"cachediag verify {self.session} --sandbox {release} --rules rules.toml": "once more",
            "cachediag fix patch --dry-run": "your own vllm-mlx",
        }


def document(verified: Mapping[str, Json], found: Found, client: str) -> dict[str, Json]:
    """`cachediag.verify/1` of the live demo: what was recorded and found beside what was measured.

    Args:
        verified: the document of the experiment.
        found: what was recorded and found.
        client: what the requests came from.
    """
    return {
        **verified,
        "recording": {
            "client": client,
            "requests": len(found.requests),
            "prompt_tokens": list(found.prompt_tokens),
            "prefix_tokens": found.prefix_tokens,
        },
        "findings": [
            documents.finding(cause.finding) | {"requests": cause.requests}
            for cause in found.causes
        ],
        "rules": [
            documents.named_rule(rule)
            | {
                "requests": rule.evidence.requests,
                "tokens_saved": rule.evidence.tokens_saved,
            }
            for rule in found.generated.ruleset.rules
        ],
    }
