"""Where vllm-mlx is installed."""

import email.parser
import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cachediag.errors import InputError, UsageError

__all__ = ["Installation", "at_site", "named", "of_python"]

_PACKAGE = "vllm_mlx"
_TIMEOUT = 30.0
_INTERPRETER = "Name the interpreter of the environment with vllm-mlx: --python VENV/bin/python."
# The package itself is not imported: that takes seconds, and needs a machine that can run it.
_FIND = """
import importlib.util, json
found = importlib.util.find_spec("vllm_mlx")
print(json.dumps(list(found.submodule_search_locations or []) if found else []))
"""


@dataclass(frozen=True, slots=True)
class Installation:
    """An installed vllm-mlx."""

    package: Path
    """The directory `vllm_mlx`."""
    version: str | None
    """What its metadata say; None where there are none."""

    @property
    def engine(self) -> Path:
        """The file that is hooked."""
        return self.package / "engine" / "simple.py"

    @property
    def payload(self) -> Path:
        """The directory that is put beside it."""
        return self.engine.with_name("cachediag_prefix_cache")

    @property
    def backup(self) -> Path:
        """The file as it was."""
        return self.engine.with_name("simple.py.cachediag-original")


def named(python: Path | None, site: Path | None) -> Installation:
    """The installation that is meant: by its interpreter, its directory, or `vllm-mlx` on PATH.

    Raises:
        UsageError: two are named, or none is and none is on PATH.
        InputError: it is not there.
    """
    if python is not None and site is not None:
        raise UsageError("give one of --python and --site")
    if site is not None:
        return at_site(site)
    return of_python(python or _on_path())


def at_site(directory: Path) -> Installation:
    """The installation in a directory of packages, such as `lib/python3.12/site-packages`.

    Raises:
        InputError: there is none.
    """
    made = Installation(directory / _PACKAGE, _version(directory))
    if not made.engine.is_file():
        raise InputError(
            "there is no vllm_mlx/engine/simple.py",
            where=str(directory),
            remedy="Name the directory of packages that vllm_mlx is in: --site DIR.",
        )
    return made


def of_python(python: Path) -> Installation:
    """The installation that an interpreter would import.

    Raises:
        InputError: the interpreter cannot be run, or finds none.
    """
    try:
        # Not where it is run: a directory of the same name may be there.
        done = subprocess.run(  # noqa: S603 - the user names it
            [python, "-c", _FIND],
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=_TIMEOUT,
        )
        places = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise InputError(
            "it does not run as a Python interpreter",
            where=str(python),
            remedy=_INTERPRETER,
        ) from error
    if not places:
        raise InputError(
            "it has no vllm-mlx",
            where=str(python),
            remedy=_INTERPRETER,
        )
    return at_site(Path(places[0]).parent)


def _on_path() -> Path:
    script = shutil.which("vllm-mlx")
    if script is not None:
        with Path(script).open("rb") as file:
            mark, _, interpreter = file.readline().decode("utf-8", "replace").strip().partition("!")
        if mark == "#" and Path(interpreter).is_file():
            return Path(interpreter)
    raise UsageError(
        "which vllm-mlx? There is none on PATH",
        remedy="Name its interpreter (--python VENV/bin/python) or its directory (--site DIR).",
    )


def _version(directory: Path) -> str | None:
    for file in sorted(directory.glob("vllm_mlx-*.dist-info/METADATA")):
        text = file.read_text(encoding="utf-8", errors="replace")
        version = email.parser.HeaderParser().parsestr(text, headersonly=True)["Version"]
        if version:
            return str(version)
    return None
