"""How the state of this machine looks: what is there, what is missing, and what mends it."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from cachediag.backends.installed import Item
from cachediag.backends.kinds import Recognised
from cachediag.backends.sandbox import State
from cachediag.model import Json
from cachediag.report.safe import printable
from cachediag.report.style import BAD, DIM, GOOD, commands, line, symbols

__all__ = ["DoctorReport", "document"]

_MAKE = "cachediag demo --live"
_KINDS = {"package": "packages", "program": "programs", "tokenizer": "tokenizers"}


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What is there and what is not."""

    items: Sequence[Item]
    sandbox: State
    backend_url: str | None = None
    backend: Recognised | None = None
    """What was recognised at the address; None where it was not, or none was given."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the answer, what there is by kind, the sandbox, and the backend."""
        missing = [item for item in self.items if not item.there and item.need == "needed"]
        if missing:
            named = ", ".join(item.name for item in missing)
            yield line((f"Missing: {named}", BAD))
        else:
            yield line(("All that recording and analysis need is here.", GOOD))
        for kind, items in groupby(self.items, key=lambda item: item.kind):
            yield Text()
            yield line((_KINDS[kind], DIM))
            for item in items:
                yield from _item(item, options)
        yield Text()
        yield from self._sandbox(options)
        if self.backend_url is not None:
            yield Text()
            yield from self._backend()
        if not missing and (following := self._next()):
            yield Text()
            yield from commands(following)

    def _next(self) -> dict[str, str]:
        if self.backend_url is None:
            return {
                "cachediag demo": "what it does, in seconds",
                "cachediag record -- claude": "record your own",
            }
        if self.backend is None:
            return {}
        url = printable(shlex.quote(self.backend_url))
        return {f"cachediag record --upstream {url} -- claude": "record what it is sent"}

    def _sandbox(self, options: ConsoleOptions) -> Iterator[Text]:
        state, signs = self.sandbox, symbols(options)
        yield line(("sandbox", DIM), f"   {printable(str(state.root))}")
        if not state.possible:
            yield line("  MLX runs on Linux and on Apple silicon only")
            return
        if not state.environment:
            yield line((f"  {signs.bad} not made yet", BAD), f"   {_MAKE}")
            return
        yield line(("  environment", GOOD))
        for engine, releases in state.releases.items():
            yield line(f"  {engine}: {', '.join(releases) or 'no release yet'}")
        yield line(f"  models: {', '.join(state.models) or 'none yet'}")

    def _backend(self) -> Iterator[Text]:
        url, found = printable(self.backend_url or ""), self.backend
        yield line(("backend", DIM), f"   {url}")
        if found is None:
            yield line(("  not recognised, or it does not answer", BAD))
            yield line("  name what its prompts are counted by: --profile NAME")
            return
        yield line(f"  {printable(str(found))}", (f"   by {printable(found.evidence)}", DIM))
        cache = f"   --engine {found.engine}" if found.engine else ""
        yield line(f"  counted by --profile {found.profile}{cache}")


def _item(item: Item, options: ConsoleOptions) -> Iterator[Text]:
    signs = symbols(options)
    if item.there:
        sure = {None: "", True: "exact", False: "estimate"}[item.exact]
        yield line((f"  {item.name:<12}", GOOD), f" {printable(item.version or sure)}")
        return
    sign, style = (f"{signs.bad} ", BAD) if item.need == "needed" else ("", DIM)
    yield line((f"  {sign}{item.name:<{12 - len(sign)}}", style), f" missing, for {item.purpose}")
    for piece in wrap(item.mend, 64, break_on_hyphens=False):
        yield line(f"{'':<15}{piece}")


def document(report: DoctorReport) -> Json:
    """The document `cachediag.doctor/1`."""
    found, state = report.backend, report.sandbox
    return {
        "schema": "cachediag.doctor/1",
        "items": [
            {
                "name": item.name,
                "kind": item.kind,
                "need": item.need,
                "there": item.there,
                "version": item.version,
                "exact": item.exact,
                "mend": None if item.there else item.mend,
            }
            for item in report.items
        ],
        "sandbox": {
            "root": str(state.root),
            "possible": state.possible,
            "environment": state.environment,
            "releases": [
                f"{engine}@{release}"
                for engine, releases in state.releases.items()
                for release in releases
            ],
            "models": list(state.models),
            "mend": _MAKE if state.possible and not state.environment else None,
        },
        "backend": {
            "url": report.backend_url,
            "kind": found and found.kind,
            "version": found and found.version,
            "variant": found and found.variant,
            "sure": found and found.sure,
            "version_sure": found.version_sure if found and found.version else None,
            "evidence": found and found.evidence,
            "profile": found and found.profile,
            "engine": found and found.engine,
        },
    }
