"""The real Claude Code, installed once and played a short script on a real engine.

The sandbox's model says one sentence, whatever it is asked. Between client and engine stands a
relay: it has the engine answer each request as it came, waits for that, and gives the client what
the script says in its place. So the client calls a tool and goes on, in the engine's time.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from cachediag.backends.sandbox import Sandbox
from cachediag.backends.sandbox.place import kept
from cachediag.demo.script import Step
from cachediag.demo.upstream import replying
from cachediag.errors import CachediagError, UpstreamError, UsageError
from cachediag.model import Json
from cachediag.protocol import jsontext
from cachediag.verify.bodies import replayed
from cachediag.verify.send import send

__all__ = ["TURNS", "VERSION", "claude_code", "relayed", "take_turns"]

VERSION: Final = "2.1.113"
"""The first release whose billing header is new in every request."""

TURNS: Final = (
    ("Count the tide tables in this directory.",),
    ("And how many of them are empty?", "--continue"),
)
"""What each call of the client is given: a tool is called in the first, and the second goes on."""

_PACKAGE = "@anthropic-ai/claude-code"
_INSTALL_SECONDS = 600.0
_TURN_SECONDS = 1800.0
_COUNT: Step = Step(
    (
        {"type": "text", "text": "I look."},
        {
            "type": "tool_use",
            "id": "toolu_live_00",
            "name": "Bash",
            "input": {"command": "ls -l", "description": "List the directory"},
        },
    )
)
_SAID = Step(({"type": "text", "text": "There are two, and one of them is empty."},))


def claude_code(sandbox: Sandbox) -> Path:
    """The client's command, installed with npm into the sandbox where it is not there.

    Raises:
        UsageError: there is no npm.
        UpstreamError: it cannot be installed.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise UsageError(
            "npm is not on PATH, and Claude Code comes from there",
            remedy="Install Node.js 20 or newer, or leave out --client claude.",
        )

    def make(place: Path) -> None:
        sandbox.tell(f"installing Claude Code {VERSION} from npm, 236 MB")
        # Its binary is put in place by a script of the package.
        options = ("--no-audit", "--no-fund", "--ignore-scripts=false", "--prefix", str(place))
        try:
            done = subprocess.run(  # noqa: S603 - no shell
                [npm, "install", *options, f"{_PACKAGE}@{VERSION}"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_INSTALL_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _not_installed(str(error)) from error
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["it said nothing"]
            raise _not_installed(lines[-1][:200])

    place = kept(sandbox, sandbox.root / "clients" / f"claude-code-{VERSION}", make)
    return place / "node_modules" / ".bin" / "claude"


def _not_installed(said: str) -> UpstreamError:
    return UpstreamError(
        f"npm cannot install Claude Code: {said}", remedy="It needs the network once."
    )


@contextmanager
def relayed(base_url: str, model: str) -> Iterator[tuple[str, list[CachediagError]]]:
    """Stand between the client and an engine as long as the block lasts.

    Args:
        base_url: the engine's server.
        model: the name that it knows its model by.

    Yields:
        The address to give the client, and what has failed at the engine so far.
    """
    failed: list[CachediagError] = []

    def reply(body: bytes) -> Step | None:
        asked = replayed(body, "messages", model=model, max_tokens=1)
        try:
            send(base_url, "/v1/messages", asked, endpoint="messages", timeout=_TURN_SECONDS)
        except CachediagError as error:
            failed.append(error)
            return None
        return _step(jsontext.decode(body))

    with replying(reply) as upstream:
        yield upstream.url, failed


def _step(request: Json) -> Step:
    messages = request["messages"]
    begun = any(message["role"] == "assistant" for message in messages)
    return _SAID if begun or not request.get("tools") else _COUNT


def take_turns(
    command: Path, base_url: str, tell: Callable[[str], None], failed: Sequence[CachediagError]
) -> None:
    """Run the client once a turn, with a home and a project that are gone afterwards.

    Args:
        command: as from `claude_code`.
        base_url: the proxy that it is to send its requests to.
        tell: told, a line each, what is run.
        failed: what failed at the engine meanwhile, which is the reason where a turn fails.

    Raises:
        UpstreamError: the client does not end well.
    """
    with tempfile.TemporaryDirectory(prefix="cachediag-claude-") as directory:
        home = Path(directory)
        project = home / "tidebook"
        project.mkdir()
        (project / "brightsand.txt").write_text("0410 512\n")
        (project / "kelpwick.txt").touch()
        for words in TURNS:
            tell(f"claude -p {' '.join(repr(word) if ' ' in word else word for word in words)}")
            said = _run([str(command), "-p", *words, "--allowedTools", "Bash"], home, base_url)
            if said is not None:
                raise next(iter(failed), None) or UpstreamError(
                    f"Claude Code {VERSION} did not end well: {said}"
                )


def _run(words: Sequence[str], home: Path, base_url: str) -> str | None:
    """Run the client; give what it said where it failed."""
    with subprocess.Popen(  # noqa: S603 - no shell
        words,
        env=_environment(home, base_url),
        cwd=home / "tidebook",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=_TURN_SECONDS)
        except subprocess.TimeoutExpired:
            return f"it was not done after {_TURN_SECONDS:.0f} s"
        finally:
            # With whatever it started; where it has ended well nothing is left to end.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode == 0:
        return None
    return said.strip()[-300:] or f"exit code {process.returncode}"


def _environment(home: Path, base_url: str) -> dict[str, str]:
    """All that the client's environment holds: nothing reaches its vendor, or the user's files."""
    node = shutil.which("node")
    places = [*([str(Path(node).parent)] if node else []), "/usr/local/bin", "/usr/bin", "/bin"]
    return {
        "PATH": ":".join(places),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "ANTHROPIC_API_KEY": "sk-ant-made-up",
        "ANTHROPIC_BASE_URL": base_url,
        "API_TIMEOUT_MS": str(int(_TURN_SECONDS * 1000)),
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1,localhost",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
