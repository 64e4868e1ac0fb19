"""Finding an installation."""

import sys
from pathlib import Path

import pytest

from cachediag.errors import InputError, UsageError
from cachediag.fix.patch import named, of_python
from tests.fix.patch.sites import installed


def interpreter(path: Path, prints: str) -> Path:
    """Something that is run as an interpreter, and prints this."""
    path.write_text(f"#!/bin/sh\necho '{prints}'\n")
    path.chmod(0o755)
    return path


def test_by_its_directory(tmp_path):
    installation = installed(tmp_path)
    assert named(None, tmp_path) == installation
    assert installation.version == "1.0.0"
    assert installation.engine == tmp_path / "vllm_mlx" / "engine" / "simple.py"


def test_by_its_interpreter(tmp_path, monkeypatch):
    installation = installed(tmp_path)
    (installation.package / "__init__.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert of_python(Path(sys.executable)) == installation


def test_by_the_command_on_the_path(tmp_path, monkeypatch):
    installation = installed(tmp_path / "site")
    python = interpreter(tmp_path / "python", f'["{installation.package}"]')
    script = tmp_path / "vllm-mlx"
    script.write_text(f"#!{python}\nimport sys\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    # The script of a shell is not found there.
    monkeypatch.setattr("cachediag.fix.patch.site._FIND", "")
    python.write_text(python.read_text().replace("echo", "/bin/echo"))
    assert named(None, None) == installation


def test_none_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="none on PATH"):
        named(None, None)
    with pytest.raises(UsageError, match="one of --python and --site"):
        named(Path("python"), tmp_path)


def test_it_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"no vllm_mlx/engine/simple\.py"):
        named(None, tmp_path)
    with pytest.raises(InputError, match="it has no vllm-mlx"):
        of_python(interpreter(tmp_path / "python", "[]"))
    with pytest.raises(InputError, match="does not run as a Python interpreter"):
        of_python(interpreter(tmp_path / "python", "hello"))
    with pytest.raises(InputError, match="does not run as a Python interpreter"):
        of_python(tmp_path / "nothing")
