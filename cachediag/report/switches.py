"""How the switches for a session look: a shell script, a settings fragment, what was written."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from cachediag.findings import all_codes
from cachediag.fix.settings import Changed, Undone, Written
from cachediag.model import Json
from cachediag.report.diff import title
from cachediag.report.safe import printable
from cachediag.report.style import DIM, GOOD, commands, count, line, symbols

if TYPE_CHECKING:
    # Taking back needs no analysis.
    from cachediag.fix.offers import Offer, Offers

__all__ = ["UndoneReport", "WrittenReport", "document", "fragment", "script", "shortened"]

_COLUMNS = 80


def shortened(path: Path) -> str:
    """A path, fit to print, with `~` for the home directory."""
    try:
        return printable(f"~/{path.relative_to(Path.home())}")
    except (ValueError, RuntimeError):
        return printable(str(path))


def fragment(found: "Offers") -> str:
    """The switches as JSON that can be put into a settings file."""
    return (
        json.dumps({"env": {o.switch.name: o.switch.value for o in found.offers}}, indent=2) + "\n"
    )


def script(found: "Offers", session: str, given: str) -> str:
    """The switches as shell lines, and in comments what they are for.

    Args:
        found: the switches.
        session: the session's name.
        given: the arguments of the command, for the next one.
    """
    blocks = [_answer(found, session)]
    blocks += [list(_offered(offer, exact=found.exact)) for offer in found.offers]
    blocks += _left(found)
    blocks.append(_next(found, given))
    return "\n".join("".join(f"{row}\n" for row in block) for block in blocks)


def _answer(found: "Offers", session: str) -> list[str]:
    name = printable(session)
    if found.offers:
        who = ", ".join(dict.fromkeys(str(offer.sender) for offer in found.offers))
        named = {code for offer in found.offers for code in offer.codes}
        codes = sorted(named, key=all_codes().index)
        many = count(len(found.offers), "switch").replace("switchs", "switches")
        verb = "removes" if len(found.offers) == 1 else "remove"
        return _comment(f"{name}: {many} of {who} {verb} {', '.join(codes)}.")
    if not found.open:
        return _comment(f"{name}: nothing was found that a switch could remove.")
    told = _comment(f"{name}: no switch is known that removes what was found.")
    known = [f"{sender}, {count(number, 'request')}" for sender, number in found.senders]
    others = [
        f"unknown client {printable(agent) or 'that did not name itself'}, "
        f"{count(number, 'request')}"
        for agent, number in found.unknown
    ]
    return [*told, *(row for each in (*known, *others) for row in _comment(each, "  "))]


def _offered(offer: "Offer", *, exact: bool) -> Iterator[str]:
    switch = offer.switch
    causes = ", ".join(f"{code} {title(code)}" for code in offer.codes)
    about = "" if exact else "about "
    lost = f", {about}{offer.tokens:,} tokens prefilled again" if offer.tokens else ""
    yield from _comment(f"{causes}, in {count(offer.requests, 'request')}{lost}")
    yield from _comment(f"removes {switch.removes}", "  ")
    for effect in switch.effects:
        yield from _comment(f"note: {effect}", "  ")
    since = f"since {switch.since}, " if switch.since else ""
    tested = f"seen to work with {', '.join(switch.tested)}, " if switch.tested else ""
    checked = f"{since}{tested}checked {offer.sender.client.checked}"
    yield from _comment(f"{offer.sender.client.name}: {checked}", "  ")
    yield f"#   {switch.sources[0]}"
    yield f"export {switch.name}={shlex.quote(switch.value)}"


def _left(found: "Offers") -> Iterator[list[str]]:
    for reason in dict.fromkeys(each.reason for each in found.open):
        rows = _comment(f"{reason}:")
        for each in found.open:
            if each.reason == reason:
                causes = f"{each.code} {title(each.code)}, in {count(each.requests, 'request')}"
                rows += _comment(causes, "  ")
        yield rows


def _next(found: "Offers", given: str) -> list[str]:
    named = printable(f" {given}") if given else ""
    if found.offers:
        return [f"# next   cachediag fix env{named} --write"]
    if found.open:
        return [f"# next   cachediag explain {found.open[0].code}"]
    return [f"# next   cachediag analyze{named}"]


def _comment(text: str, indent: str = "") -> list[str]:
    lead = f"# {indent}"
    return wrap(
        text,
        _COLUMNS,
        initial_indent=lead,
        subsequent_indent=f"{lead}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """What was set in a settings file."""

    written: Written
    reader: str
    """The client that reads it."""
    reads_comments: bool
    file: Path | None = None
    """The settings file as it was named; None where it is the user's own."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the answer, the changes, and how to take them back."""
        w, signs = self.written, symbols(options)
        path = shortened(w.path)
        if w.changes:
            yield line((f"{path}: {_switches(len(w.changes))} set", GOOD))
        else:
            yield line((f"{path}: all set already, nothing was changed", GOOD))
        yield from _changes(w.changes, signs.arrow)
        if not w.is_plain and not self.reads_comments:
            yield line(
                (f"{signs.cost} {self.reader} reads no settings file with comments", "yellow")
            )
            yield line("  or trailing commas: it takes nothing from this one. Take them out, or")
            yield line("  set the variables in the shell.")
        elif w.changes:
            yield line((f"In effect when {self.reader} is started again.", DIM))
        if w.backup is not None:
            yield line((f"what it was before: {shortened(w.backup)}", DIM))
        yield Text()
        named = f" --file {printable(shlex.quote(str(self.file)))}" if self.file else ""
        undo = {f"cachediag fix env --undo{named}": "take it back"} if w.changes else {}
        yield from commands({"cachediag fix status": "see what is in place", **undo})


@dataclass(frozen=True, slots=True)
class UndoneReport:
    """What was taken back."""

    path: Path
    undone: Undone | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the answer and the changes."""
        u, path = self.undone, shortened(self.path)
        if u is None:
            yield line(f"{path}: cachediag has set nothing there")
            return
        if u.is_exact:
            there = "is what it was before" if self.path.exists() else "is gone, as before"
            yield line((f"{path} {there}", GOOD))
        else:
            yield line(
                (f"{path} was changed meanwhile; {_switches(len(u.changes))} taken out", GOOD)
            )
        yield from _changes(u.changes, symbols(options).arrow)
        for name in u.kept:
            yield line(f"  {printable(name)} was changed by somebody else since, and stays")


def _switches(number: int) -> str:
    return "1 switch" if number == 1 else f"{number:,} switches"


def _changes(changes: tuple[Changed, ...], arrow: str) -> Iterator[Text]:
    width = max((len(change.name) for change in changes), default=0)
    for change in changes:
        name = f"{printable(change.name):<{width}}"
        yield line(f"  {name}   {_value(change.before)} {arrow} {_value(change.after)}")


def _value(value: Json) -> str:
    return (
        "not set" if value is None else printable(value if isinstance(value, str) else str(value))
    )


def document(
    found: "Offers | None", session: str | None, done: Written | Undone | None, path: Path | None
) -> dict[str, Json]:
    """`cachediag.fix-env/1`: the switches for a session, and what was set or taken back.

    Args:
        found: the switches; None where no session was looked at.
        session: its name.
        done: what was set in a settings file, or taken back there; None where nothing was.
        path: the settings file; None where none was looked at.
    """
    return {
        "schema": "cachediag.fix-env/1",
        "session": session,
        "clients": _clients(found) if found else [],
        "switches": [_offer(offer) for offer in found.offers] if found else [],
        "exact": found.exact if found else None,
        "unanswered": [
            {"code": each.code, "requests": each.requests, "reason": each.reason}
            for each in (found.open if found else ())
        ],
        "file": None if path is None else _file(done, path),
    }


def _clients(found: "Offers") -> list[dict[str, Json]]:
    known = [
        {
            "client": sender.client.name,
            "version": sender.version,
            "user_agent": None,
            "requests": number,
        }
        for sender, number in found.senders
    ]
    others = [
        {"client": None, "version": None, "user_agent": agent or None, "requests": number}
        for agent, number in found.unknown
    ]
    return [*known, *others]


def _offer(offer: "Offer") -> dict[str, Json]:
    switch, client = offer.switch, offer.sender.client
    return {
        "name": switch.name,
        "value": switch.value,
        "client": client.name,
        "version": offer.sender.version,
        "codes": list(offer.codes),
        "requests": offer.requests,
        "tokens": offer.tokens,
        "removes": switch.removes,
        "effects": list(switch.effects),
        "since": switch.since,
        "tested": list(switch.tested),
        "sources": list(switch.sources),
        "checked": client.checked.isoformat(),
    }


def _file(done: Written | Undone | None, path: Path) -> dict[str, Json]:
    if isinstance(done, Written):
        action = "written" if done.changes else "unchanged"
    elif isinstance(done, Undone):
        action = "restored" if done.is_exact else "cleaned"
    else:
        action = "unchanged"
    backup = done.backup if isinstance(done, Written) else None
    return {
        "path": str(path),
        "action": action,
        "changes": [
            {"name": change.name, "before": change.before, "after": change.after}
            for change in (done.changes if done else ())
        ],
        "kept": list(done.kept) if isinstance(done, Undone) else [],
        "plain_json": done.is_plain if isinstance(done, Written) else None,
        "backup": None if backup is None else str(backup),
    }
