"""Running a client so that its traffic goes through the proxy.

A client finds its server by environment variables; they are all that is changed for it. Its
standard streams, its working directory and its exit code are its own.
"""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit, urlunsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from cachediag.capture.redact import safe_url
from cachediag.errors import UsageError

__all__ = [
    "VENDORS",
    "CommandError",
    "base_urls",
    "check_command",
    "forward_environment",
    "host_of",
    "origin_of",
    "proxies_to",
    "reverse_environment",
    "run",
    "wait_for_interrupt",
]

VENDORS: Mapping[str, str] = {
    "ANTHROPIC_BASE_URL": "https://api.anthropic.com",
    "OPENAI_BASE_URL": "https://api.openai.com/v1",
}
"""The variables that name a client's server, and where it turns to without them."""

# What OpenAI clients read before OPENAI_BASE_URL came, and some still do.
_OLD_OPENAI = "OPENAI_API_BASE"

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_POLL_SECONDS = 0.1

_PROXY_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")


class CommandError(UsageError):
    """The client cannot be started; the exit code is the one a shell would give."""

    def __init__(self, message: str, *, where: str, remedy: str, exit_code: int) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.exit_code = exit_code


def base_urls(environ: Mapping[str, str], upstream: str | None) -> dict[str, str]:
    """Give the server that each variable is to lead to in the end.

    Args:
        environ: the environment the client would have had.
        upstream: one server for all of them, with or without a closing `/v1`.

    Returns:
        Base URLs by variable; those of the OpenAI protocols end in `/v1` where `upstream` is
        given.

    Raises:
        UsageError: if one is no http or https URL.
    """
    if upstream is not None:
        root = _checked(upstream, "--upstream").rstrip("/").removesuffix("/v1")
        return {
            "ANTHROPIC_BASE_URL": root,
            "OPENAI_BASE_URL": f"{root}/v1",
            _OLD_OPENAI: f"{root}/v1",
        }
    urls = {name: _checked(environ.get(name) or vendor, name) for name, vendor in VENDORS.items()}
    older = environ.get(_OLD_OPENAI)
    if older and not environ.get("OPENAI_BASE_URL"):
        urls["OPENAI_BASE_URL"] = _checked(older, _OLD_OPENAI)
    urls[_OLD_OPENAI] = _checked(older, _OLD_OPENAI) if older else urls["OPENAI_BASE_URL"]
    return urls


def _checked(url: str, where: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(
            f"not an http or https URL: {safe_url(url)}" if "://" in url else "not a URL",
            where=where,
            remedy="Write it as http://HOST:PORT or https://HOST.",
        )
    return url


def origin_of(url: str) -> str:
    """Give the `scheme://host:port` of a URL, the port always written."""
    return f"{urlsplit(url).scheme}://{host_of(url)}"


def host_of(url: str) -> str:
    """Give the `host:port` of a URL, the port always written."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def reverse_environment(
    environ: Mapping[str, str], urls: Mapping[str, str], local: Mapping[str, str]
) -> dict[str, str]:
    """Give the variables that lead a client to a reverse proxy.

    Args:
        environ: the environment the client would have had.
        urls: as from `base_urls`; path and userinfo are carried over.
        local: the proxy's `http://host:port` by origin.

    Returns:
        The variables to set, and no others.
    """
    changed = {name: _moved(url, local[origin_of(url)]) for name, url in urls.items()}
    if any(environ.get(name) for name in _PROXY_VARIABLES):
        # A client that reaches the world through a proxy must not ask it for this machine.
        for name in ("NO_PROXY", "no_proxy"):
            kept = [environ.get(name) or environ.get(name.swapcase()) or ""]
            changed[name] = ",".join(filter(None, [*kept, "127.0.0.1", "localhost", "::1"]))
    return changed


def _moved(url: str, local: str) -> str:
    parts, target = urlsplit(url), urlsplit(local)
    userinfo, at, _ = parts.netloc.rpartition("@")
    moved = (target.scheme, f"{userinfo}{at}{target.netloc}", parts.path, parts.query, "")
    return urlunsplit(moved).rstrip("/")


def forward_environment(
    environ: Mapping[str, str], proxy: str, trust: Mapping[str, str], hosts: Iterable[str]
) -> dict[str, str]:
    """Give the variables that make a client use a forward proxy.

    Args:
        environ: the environment the client would have had.
        proxy: the proxy's `http://host:port`.
        trust: the variables that make the proxy's CA trusted.
        hosts: `host:port` of the servers that must not be reached past the proxy.

    Returns:
        The variables to set, and no others.
    """
    changed = {**dict.fromkeys(_PROXY_VARIABLES, proxy), **trust}
    for name in ("NO_PROXY", "no_proxy"):
        entries = environ.get(name, "").replace(",", " ").split()
        if entries:
            kept = [entry for entry in entries if not any(_bypassed(h, entry) for h in hosts)]
            changed[name] = ",".join(kept)
    return changed


def proxies_to(origins: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Give the HTTP proxy that each origin is to be reached through, where there is one.

    Args:
        origins: as from `origin_of`; those on this machine are always reached directly.
        environ: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in either case.
    """
    exceptions = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    found: dict[str, str] = {}
    for origin in origins:
        name = f"{urlsplit(origin).scheme}_proxy"
        proxy = environ.get(name) or environ.get(name.upper())
        host = host_of(origin)
        nearby = _bypassed(host, "localhost,127.0.0.1,[::1],::1")
        if proxy and not nearby and not _bypassed(host, exceptions):
            found[origin] = proxy if "://" in proxy else f"http://{proxy}"
    return found


def _bypassed(host: str, exceptions: str) -> bool:
    return bool(proxy_bypass_environment(host, {"no": exceptions}))


def check_command(program: str) -> None:
    """Make sure that a program can be started, before anything is set up for it.

    Raises:
        CommandError: if it cannot; the exit code is 127 or 126, as a shell's would be.
    """
    if shutil.which(program) is None:
        exists = Path(program).exists()
        raise _not_started(program, PermissionError() if exists else FileNotFoundError())


def run(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run a client to its end.

    It shares this process's terminal: Ctrl-C reaches it, and it decides what to do about it.
    SIGTERM and SIGHUP are passed on to it.

    Args:
        command: program and arguments.
        environ: its whole environment.

    Returns:
        Its exit code, 128 + n where signal n ended it.

    Raises:
        CommandError: if it cannot be started.
    """
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        if child is None:
            early.append(number)
        elif number != signal.SIGINT or not _in_foreground():
            with suppress(ProcessLookupError):
                child.send_signal(number)

    # A handler, unlike SIG_IGN, is not inherited by the child.
    with _handled(_SIGNALS, pass_on):
        try:
            child = subprocess.Popen(command, env=dict(environ))  # noqa: S603 - the user's own
        except OSError as error:
            raise _not_started(command[0], error) from error
        for number in early:
            child.send_signal(number)
        code = child.wait()
    return code if code >= 0 else 128 - code


def _in_foreground() -> bool:
    """Tell whether Ctrl-C, as the terminal sends it, has reached the child as well."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _not_started(program: str, error: OSError) -> CommandError:
    if isinstance(error, FileNotFoundError):
        return CommandError(
            "command not found",
            where=program,
            remedy="Give its full path, or put its directory on PATH.",
            exit_code=127,
        )
    return CommandError(
        f"cannot be run ({error.strerror or 'not executable'})",
        where=program,
        remedy="Name a program that can be run: cachediag record -- CMD",
        exit_code=126,
    )


def wait_for_interrupt(stopped: threading.Event) -> bool:
    """Wait for Ctrl-C, SIGTERM or SIGHUP, or until the event is set.

    Returns:
        True if it was a signal that ended the wait.
    """
    received: list[int] = []
    with _handled(_SIGNALS, lambda number, _: received.append(number)):
        # Setting an event from a handler can deadlock with the wait that it interrupts.
        while not received and not stopped.wait(_POLL_SECONDS):
            pass
    return bool(received)


@contextmanager
def _handled(
    numbers: Sequence[int], handler: Callable[[int, FrameType | None], object]
) -> Iterator[None]:
    before = [(number, signal.signal(number, handler)) for number in numbers]
    try:
        yield
    finally:
        for number, previous in before:
            signal.signal(number, previous)
