"""An environment for the grammar engines alone: torch is a gigabyte that no other test needs.

It is kept with the sandbox of the live tests.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

import cachediag
from cachediag.backends.sandbox.install import uv
from cachediag.backends.sandbox.place import kept
from cachediag.lint.grammar.child import Result
from cachediag.model import Json
from tests.live.engines_packages import live_sandbox

__all__ = ["ENGINES", "compiled", "engine_environment", "grammar_python", "guidance_alone"]

ENGINES = {"xgrammar": "0.2.9", "llguidance": "1.9.1"}

_TORCH = "torch==2.13.0"
_ALONE = (f"xgrammar=={ENGINES['xgrammar']}", "apache-tvm-ffi>=0.1.11")
# Alone, xgrammar is without triton, which is for CUDA; this is what else it needs.
_NEEDED = (
    f"llguidance=={ENGINES['llguidance']}",
    *("numpy", "pydantic", "transformers>=4.38,<6", "typing-extensions>=4.13"),
)
_ROOT = Path(__file__).parents[2]
_ORACLE = Path(__file__).with_name("grammar_oracle.py")


def grammar_python() -> Path:
    """The interpreter that has the engines and what cachediag needs; installed where it is not."""
    needed = [_TORCH, *_ALONE, *_NEEDED, *_own()]
    digest = sha256("\n".join(needed).encode()).hexdigest()[:10]
    place = live_sandbox().root / f"grammar-{digest}"
    return kept(live_sandbox(), place, _make) / "bin" / "python"


def compiled(
    engine: str, tasks: Iterable[tuple[Json, Iterable[str]]], *, seconds: float = 20.0
) -> list[Result]:
    """What an engine makes of structural tags, and of texts held against each."""
    asked = [engine, "qwen3", seconds, [[tag, list(texts)] for tag, texts in tasks]]
    with engine_environment() as env:
        done = subprocess.run(
            [grammar_python(), _ORACLE],
            input=json.dumps(asked),
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    if done.returncode:
        pytest.fail(f"{engine} cannot be asked:\n{done.stderr[-2000:]}")
    found = json.loads(done.stdout)
    return [
        Result(**{**each, "fits": tuple(each["fits"]), "warnings": tuple(each["warnings"])})
        for each in found
    ]


@contextmanager
def engine_environment() -> Iterator[dict[str, str]]:
    """The variables with which that interpreter finds the package under test, and no other's."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    with tempfile.TemporaryDirectory() as alone:
        (Path(alone) / "cachediag").symlink_to(Path(cachediag.__file__).parent)
        yield kept | {"PYTHONPATH": alone, "PYTHONNOUSERSITE": "1", "LANG": "C.UTF-8"}


def guidance_alone() -> Path:
    """A directory with llguidance in it, to be put on the path of a server.

    Where there is no Metal its kernel for MLX is replaced by one that does the same on the
    processor.
    """
    place = live_sandbox().root / "releases" / f"llguidance-{ENGINES['llguidance']}"

    def make(made: Path) -> None:
        wanted = f"llguidance=={ENGINES['llguidance']}"
        _run(uv() or "uv", "pip", "install", "--no-deps", "--target", made, wanted)
        with (made / "llguidance" / "mlx.py").open("a", encoding="utf-8") as file:
            file.write(_WITHOUT_METAL)

    return kept(live_sandbox(), place, make)


_WITHOUT_METAL = """

if not mx.metal.is_available():

    def apply_token_bitmask(logits, mask_np):
        logits = logits if len(logits.shape) == 2 else mx.expand_dims(logits, axis=0)
        bits = np.unpackbits(mask_np.view(np.uint8), axis=-1, bitorder="little")
        # What the mask does not reach is no token.
        bits = np.pad(bits, ((0, 0), (0, max(0, logits.shape[1] - bits.shape[1]))))
        return mx.where(mx.array(bits[:, : logits.shape[1]] != 0), logits, -float("inf"))
"""


def _own() -> list[str]:
    """What cachediag needs, with the extra but for xgrammar."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = project["optional-dependencies"]["grammar"]
    own = [*project["dependencies"], *extra]
    return [each for each in own if not each.startswith("xgrammar")]


def _make(place: Path) -> None:
    _run(_base(), "-m", "venv", place)
    python = place / "bin" / "python"
    # By pip, which knows where this machine keeps builds of torch without CUDA.
    _run(python, "-m", "pip", "install", "--disable-pip-version-check", _TORCH)
    installer = (uv() or "uv", "pip", "install", "--python", python)
    _run(*installer, "--no-deps", *_ALONE)
    _run(*installer, *_NEEDED, *_own())


def _base() -> str:
    """The interpreter to make it of: the oldest one if it gets a torch without CUDA, else ours."""
    oldest = shutil.which("python3.11")
    if oldest is None or sys.platform == "darwin":
        return sys.executable
    ask = ("install", "--dry-run", "--ignore-installed", "--no-deps", "-q", "--report", "-")
    told = subprocess.run(
        [oldest, "-m", "pip", *ask, _TORCH], capture_output=True, text=True, check=False
    )
    return oldest if '"2.13.0+cpu"' in told.stdout else sys.executable


def _run(*words: str | Path) -> None:
    command = [str(word) for word in words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode:
        pytest.fail(f"{command} ended with {done.returncode}:\n{done.stderr[-2000:]}")
