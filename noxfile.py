"""The project's checks: `nox` lints and tests, `nox --list` names the rest.

Nothing is needed but nox and one Python of 3.11 or newer; `tests` runs on every one there is.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.10.14"
nox.options.sessions = ["lint", "tests"]
nox.options.default_venv_backend = "uv|virtualenv"
# An interpreter that is not here is no failure, in CI as little as elsewhere.
nox.options.error_on_missing_interpreters = False
nox.options.download_python = "never"

_SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
_RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"


def _works(version: str) -> bool:
    """Tell whether `pythonX.Y` runs: a version manager's shim may exist and refuse."""
    command = shutil.which(f"python{version}")
    if command is None:
        return False
    return subprocess.run([command, "-c", "pass"], capture_output=True, check=False).returncode == 0


# Never empty, so that `tests` cannot pass by running nowhere.
PYTHONS = [v for v in _SUPPORTED if v == _RUNNING or _works(v)] or [_RUNNING]


def _group(name: str) -> tuple[str, ...]:
    return nox.project.dependency_groups(nox.project.load_toml(), name)


@nox.session(python=PYTHONS[0])
def lint(session: nox.Session) -> None:
    """Check style, format and types."""
    session.install(".", *_group("lint"), *_group("live"), *_group("docs"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    checked = ("cachediag", "addons", "benchmarks", "fixtures", "peers", "tests", "noxfile.py")
    session.run("mypy", *checked)
    session.run("mypy", "docs")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests, which need no network, on each Python that is here."""
    session.install(".", *_group("test"))
    session.run("pytest", "tests", "--ignore=tests/live", *session.posargs)


@nox.session(python=PYTHONS[0])
def coverage(session: nox.Session) -> None:
    """Run the tests, and fail where they reach less than 95 % of lines and branches."""
    session.install(".", *_group("coverage"))
    # Workers of workers would else write where they stand.
    session.env["COVERAGE_FILE"] = str(Path.cwd() / ".coverage")
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", "pytest", "tests", "--ignore=tests/live", *session.posargs)
    session.run("coverage", "combine")
    session.run("coverage", "report", "--fail-under=95")


@nox.session
def live(session: nox.Session) -> None:
    """Drive real clients and engines; installs them from npm and PyPI."""
    if shutil.which("npm") is None:
        session.error("npm is not on PATH: the live tests install Claude Code and others with it")
    session.install(".", *_group("live"))
    # Some install what they drive.
    wait = ("-o", "faulthandler_timeout=1800")
    session.run("pytest", "tests/live", *wait, *session.posargs)


@nox.session
def demo(session: nox.Session) -> None:
    """Run the demonstration from an installed package."""
    session.install(".")
    session.run("cachediag", "demo", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Write command reference and examples anew, build the documentation into site/."""
    session.install(".", *_group("docs"))
    session.run("python", "docs/generate_cli.py")
    session.run("python", "docs/generate_examples.py")
    session.run("python", "docs/generate_rules_schema.py")
    session.run("mkdocs", "build", "--strict", *session.posargs, env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def bench(session: nox.Session) -> None:
    """Measure what is promised about speed and size; writes bench.json."""
    session.install(".", *_group("test"), *_group("bench"))
    session.run("python", "-m", "benchmarks", *session.posargs)


@nox.session
def peers(session: nox.Session) -> None:
    """Run other tools over the case collection, each as PyPI has it; writes peers.json."""
    session.install(".")
    session.run("python", "-m", "peers", *session.posargs)
