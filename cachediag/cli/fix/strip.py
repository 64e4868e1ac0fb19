"""`cachediag fix strip`: a proxy that applies rules to what passes, and records nothing."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from cachediag.cli.proxy import (
    CONTEXT_SETTINGS,
    CommandArgument,
    HostOption,
    Mode,
    ModeOption,
    PortOption,
    UpstreamOption,
    planned,
    told_of,
    until_the_end,
)
from cachediag.cli.screen import Screen
from cachediag.cli.stripping import stripping

__all__ = ["CONTEXT_SETTINGS", "strip"]


def strip(  # noqa: PLR0917 - a parameter is an option
    rules: Annotated[
        Path,
        typer.Option(
            "--rules",
            metavar="FILE",
            help="The rules to apply; the file is read again when it changes.",
            show_default=False,
        ),
    ],
    command: CommandArgument = None,
    upstream: UpstreamOption = None,
    mode: ModeOption = Mode.reverse,
    host: HostOption = "127.0.0.1",
    port: PortOption = 0,
) -> None:
    """Apply rules to requests on their way to the server.

    Answers pass as they come, streams piece by piece. Where a rule cannot be applied the request
    goes on as it came. Nothing is stored; `cachediag record --rules` records as well.

    \b
    Examples:
      cachediag fix strip --rules rules.toml --upstream http://127.0.0.1:8000
      cachediag fix strip --rules rules.toml -- claude
      cachediag fix strip --rules rules.toml --mode forward -- claude
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.capture.client import check_command
    from cachediag.capture.proxy import running_proxy
    from cachediag.capture.recording import confdir
    from cachediag.capture.redact import safe_url

    plan = planned(mode, upstream)
    if command:
        check_command(command[0])
    screen = Screen()
    changing = stripping(rules, screen)
    with running_proxy(
        plan.target,
        addons=[changing.addon],
        confdir=confdir(),
        host=host,
        port=port,
        warn=screen.warn,
    ) as proxy:
        told_of(proxy, plan, host, screen, recorded=False)
        code = until_the_end(command, proxy, plan, screen, what="the proxy", status=changing.line)
    screen.say("", changing.report())
    if upstream and changing.tally.changed:
        url = safe_url(upstream)
        words = shlex.join(["cachediag", "verify", "--backend", url, "--rules", str(rules)])
        screen.say("", f"next   {words}", "       what it is worth on the server")
    screen.leave(code)
