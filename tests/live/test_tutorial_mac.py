"""The commands of `docs/tutorial-mac.md`, run one after another as a reader would.

Those whose output the page shows are run by `docs/generate_examples.py` too. What a reader has and
this machine has not is replaced: the model by a tiny one, `claude` by the made-up client. The
server is of a release that does not remove the billing header itself.
"""

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cachediag.backends.sandbox import Running, copy_of, python, running
from tests.live.engines_packages import live_sandbox
from tests.live.home import SMALL, Home, home_at

PAGE = Path(__file__).parents[2] / "docs" / "tutorial-mac.md"
RELEASE = "0.2.6"
CLIENT = """
import os
from cachediag.demo.client import play_alone
from cachediag.demo.live.sized import conversation

lane = conversation(0, os.environ["ANTHROPIC_MODEL"], lambda _: 0)
play_alone(lane, os.environ["ANTHROPIC_BASE_URL"])
"""


def commands() -> list[str]:
    """Those of the page that are in blocks, in order."""
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("cachediag ")]


DEMO, DIFF, ANALYZE, NEW, CHECK, VERIFY, *OWN = commands()
RECORD, OWN_DIFF, OWN_ANALYZE, OWN_NEW, OWN_CHECK, *PATCH, OWN_RECORD, OWN_VERIFY = OWN


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = home_at(tmp_path_factory.mktemp("home"), RELEASE)
    # An environment as `python -m venv ~/mlx` makes one: an interpreter, and packages beside it.
    packages = home.path / "mlx" / "lib" / "site-packages"
    packages.parent.mkdir(parents=True)
    copy_of(live_sandbox(), "vllm-mlx", RELEASE, packages)
    interpreter = home.path / "mlx" / "bin" / "python"
    interpreter.parent.mkdir()
    real = shlex.quote(str(python(live_sandbox())))
    interpreter.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(packages))} exec {real} "$@"\n')
    interpreter.chmod(0o700)
    return home


@contextmanager
def server(home: Home) -> Iterator[Running]:
    """What `~/mlx/bin/vllm-mlx serve` of the page starts."""
    site = home.path / "mlx" / "lib" / "site-packages"
    with running(live_sandbox(), "vllm-mlx", RELEASE, site_dir=site, served_as="qwen") as live:
        yield live


def ran(home: Home, command: str, *more: str, url: str = "") -> str:
    """Run a command of the page; give what it printed."""
    words = [word.replace("~", str(home.path)) for word in shlex.split(command)[1:]]
    words = [word.replace("http://127.0.0.1:8000", url) for word in words]
    if words[-1] == "claude":
        words[-1:] = [sys.executable, "-c", CLIENT]
    with_model = Home(home.path, {**home.env, "ANTHROPIC_MODEL": "qwen"})
    done = with_model.run(*words, *more)
    assert done.code == 0, f"{command}\n{done.stderr}"
    return done.stdout.decode() + done.stderr


def test_the_page_has_the_commands_that_are_run_here() -> None:
    assert [command.split()[1] for command in (DEMO, DIFF, ANALYZE, NEW, CHECK, VERIFY)] == [
        *("demo", "diff", "analyze", "rules", "rules", "verify"),
    ]
    assert [command.split()[2] for command in PATCH] == ["patch", "patch", "status", "unpatch"]
    assert [command.split()[1] for command in (RECORD, OWN_RECORD, OWN_VERIFY)] == [
        *("record", "record", "verify"),
    ]


def test_with_the_sandbox(home: Home) -> None:
    said = ran(home, DEMO, *SMALL)
    for row in ("as recorded", "rules only", "patch only", "both"):
        assert f"\n{row} " in said
    assert "V01 billing header" in ran(home, DIFF)
    assert "causes removed" in ran(home, ANALYZE)
    assert "1 rule in demo-rules.toml, enabled" in ran(home, NEW)
    assert "\nsafe " in ran(home, CHECK)
    said = ran(home, VERIFY, "--repeats", "1", "--max-requests", "2")
    assert "\nboth " in said


def test_with_a_server_of_ones_own(home: Home) -> None:
    dry, patch, status, unpatch = PATCH
    with server(home) as live:
        assert "V01 billing header" in ran(home, RECORD, url=live.base_url)
    assert "V01 billing header" in ran(home, OWN_DIFF)
    assert "vllm-mlx@0.2.6" in ran(home, OWN_ANALYZE)
    assert "1 rule in rules.toml, enabled" in ran(home, OWN_NEW)
    assert "\nsafe " in ran(home, OWN_CHECK)
    assert "nothing was written" in ran(home, dry)
    ran(home, patch)
    assert "patched by cachediag" in ran(home, status)
    with server(home) as live:
        assert "appended only" in ran(home, OWN_RECORD, url=live.base_url)
        said = ran(home, OWN_VERIFY, "--repeats", "1", url=live.base_url)
        assert "\nrules only " in said
    ran(home, unpatch)
    assert "patched by cachediag" not in ran(home, status)
