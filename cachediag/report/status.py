"""How the state of things looks: switches and where they are set, and the backend's own cures."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from textwrap import wrap

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from cachediag.fix.cures import Cure
from cachediag.fix.status import BackendState, Cause, ClientState, FileState, SwitchState
from cachediag.model import Json
from cachediag.protocol.endpoint import PATHS
from cachediag.report.diff import title
from cachediag.report.safe import printable
from cachediag.report.style import BAD, DIM, GOOD, commands, count, line, symbols
from cachediag.report.switches import shortened

__all__ = ["StatusReport", "document"]

_COLUMNS = 80
_NAME = 39
_SIGNS = {"on": GOOD, "other": "yellow", "unset": DIM}


@dataclass(frozen=True, slots=True)
class StatusReport:
    """What is in place."""

    clients: tuple[ClientState, ...]
    backend: BackendState | None = None
    causes: tuple[Cause, ...] | None = None
    """None where no session was looked at."""
    given: str = ""
    """How to name the session in the next command."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the causes, the switches, the backend, and the next command."""
        if self.causes is not None:
            yield from self._causes(options)
        for state in self.clients:
            yield from _client(state, options)
        if self.backend is not None:
            yield from _backend(self.backend)
        yield from self._next()

    def _causes(self, options: ConsoleOptions) -> Iterator[Text]:
        found = self.causes or ()
        if not found:
            yield line(("No request broke a prefix shared with an earlier one.", GOOD))
        still = [cause for cause in found if cause.left]
        if found:
            many = count(len(found), "cause")
            says = "all taken care of" if not still else f"{len(still):,} not taken care of"
            yield line((f"{many} found, {says}", BAD if still else GOOD))
        for cause in found:
            yield from self._cause(cause, options)
        yield Text()

    def _cause(self, cause: Cause, options: ConsoleOptions) -> Iterator[Text]:
        sign = f"{symbols(options).bad} " if cause.left else ""
        named = f"{sign}{cause.code} {title(cause.code)}"
        where = [*cause.switches, *([self.backend.profile] if self.backend else [])]
        left = f", {f'{cause.left:,}' if cause.left else 'none'} left" if where else ""
        said = f"in {count(cause.requests, 'request')}{left}"
        yield line((f"  {named:<44}", BAD if cause.left else GOOD), said)
        if where:
            yield from _told(f"    with {', '.join(where)}")

    def _next(self) -> Iterator[Text]:
        named = f" {printable(shlex.quote(self.given))}" if self.given else ""
        shown = {f"cachediag fix env{named}": "which switches help"}
        if any(file.variables.can_undo for each in self.clients for file in each.files):
            shown["cachediag fix env --undo"] = "take back what was set"
        yield from commands(shown)


def _client(state: ClientState, options: ConsoleOptions) -> Iterator[Text]:
    on = sum(each.state == "on" for each in state.switches)
    total = len(state.switches)
    yield line((state.client.name, "bold"), f"   {on:,} of {total:,} switches on")
    kinds = {str(file.variables.path): file.kind for file in state.files}
    for each in state.switches:
        yield from _switch(each, kinds, options)
    yield Text()
    for file in state.files:
        yield from _file(file)
    yield Text()


def _switch(each: SwitchState, kinds: Mapping[str, str], options: ConsoleOptions) -> Iterator[Text]:
    value = "not set"
    if each.value is not None and each.source is not None:
        value = printable(f"{kinds.get(each.source, each.source)}: {each.value}")
    sign = {"on": "on", "other": symbols(options).cost, "unset": ""}[each.state]
    answers = "/".join(each.switch.codes)
    yield line(
        (f"  {sign:<2} {each.switch.name:<{_NAME}} {answers:<7}  ", _SIGNS[each.state]), value
    )
    if each.state == "other":
        yield line((f"     wanted: {each.switch.value}", "yellow"))
    for source, overruled in each.overruled:
        said = printable(f"{kinds.get(source, source)}: {overruled}")
        yield line((f"     {said}, which does not count", DIM))


def _file(file: FileState) -> Iterator[Text]:
    said = file.variables
    head, path = f"  {file.kind:<8} ", shortened(said.path)
    if not said.exists:
        yield line((f"{head}{'not there':<24} {path}", DIM))
    elif said.problem is not None:
        yield line(head, (f"{'not read':<24} ", "yellow"), path)
        yield line((f"           {printable(said.problem)}", "yellow"))
    elif not file.is_read:
        yield line(head, (f"{'not read: has comments':<24} ", "yellow"), path)
    else:
        by = "read, set by cachediag" if said.can_undo else "read"
        yield line(f"{head}{by:<24} ", (path, DIM))


def _backend(state: BackendState) -> Iterator[Text]:
    yield line((state.profile, "bold"), "   what it does of its own")
    causes = [cure for cure in state.cures if not cure.is_cache]
    caches = [cure for cure in state.cures if cure.is_cache]
    for cure in causes:
        yield from _cure(", ".join(cure.codes), cure)
    for cure in caches:
        yield from _cure("cache", cure)
    if not caches:
        unknown = "nothing is known of its cache" if not state.cures else "keeps no prefix cache"
        yield line(f"  cache  {unknown}")
    yield Text()


def _cure(label: str, cure: Cure) -> Iterator[Text]:
    where = "" if cure.is_cache else f", {', '.join(PATHS[each] for each in cure.endpoints)}"
    yield from _told(f"  {label:<5}  {cure.does}{where}")
    if cure.limit:
        yield from _told(f"         {cure.limit}")
    if not cure.is_cache:
        use = "a rule for it would change nothing there" if cure.whole else "a rule takes the rest"
        yield line(f"         {use}")
    yield line((f"         {cure.how}, {cure.checked}", DIM))
    yield line((f"         {cure.source}", DIM))


def _told(text: str) -> Iterator[Text]:
    for row in wrap(text, _COLUMNS, subsequent_indent=" " * 9, drop_whitespace=True):
        yield line(row)


def document(
    clients: Iterable[ClientState], backend: BackendState | None, causes: Iterable[Cause] | None
) -> dict[str, Json]:
    """`cachediag.fix-status/1`: what is in place.

    Args:
        clients: what is set for each client.
        backend: what the backend does of its own; None where none was named.
        causes: what broke prefixes in a session; None where none was looked at.
    """
    return {
        "schema": "cachediag.fix-status/1",
        "clients": [
            {
                "client": state.client.name,
                "switches": [_switch_row(each) for each in state.switches],
                "files": [_file_row(file) for file in state.files],
            }
            for state in clients
        ],
        "backend": backend
        and {"profile": backend.profile, "cures": [_cure_row(cure) for cure in backend.cures]},
        "causes": None if causes is None else [_cause_row(cause) for cause in causes],
    }


def _switch_row(each: SwitchState) -> dict[str, Json]:
    return {
        "name": each.switch.name,
        "codes": list(each.switch.codes),
        "wanted": each.switch.value,
        "state": each.state,
        "value": each.value,
        "source": each.source,
        "overruled": [{"source": source, "value": value} for source, value in each.overruled],
    }


def _file_row(file: FileState) -> dict[str, Json]:
    said = file.variables
    return {
        "kind": file.kind,
        "path": str(said.path),
        "exists": said.exists,
        "read": file.is_read,
        "plain_json": said.is_plain if said.exists and said.problem is None else None,
        "problem": said.problem,
        "can_undo": said.can_undo,
    }


def _cure_row(cure: Cure) -> dict[str, Json]:
    return {
        "codes": list(cure.codes),
        "endpoints": list(cure.endpoints),
        "since": cure.since,
        "until": cure.until,
        "does": cure.does,
        "limit": cure.limit,
        "whole": cure.whole,
        "how": cure.how,
        "source": cure.source,
        "checked": cure.checked.isoformat(),
    }


def _cause_row(cause: Cause) -> dict[str, Json]:
    return {
        "code": cause.code,
        "requests": cause.requests,
        "requests_left": cause.left,
        "switches_on": list(cause.switches),
    }
