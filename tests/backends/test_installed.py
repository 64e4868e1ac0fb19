import importlib.metadata
import platform
import shutil

import pytest

from cachediag.backends import installed
from cachediag.backends.sandbox import install


@pytest.fixture
def found(tmp_path, monkeypatch):
    """What is found where the path holds two programs, and no tiktoken file is here."""
    said = {"node": "echo v22.3.1", "claude": "echo nothing"}
    for name, script in said.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setattr(
        shutil, "which", lambda name: str(tmp_path / name) if name in said else None
    )
    monkeypatch.setattr(install, "uv", lambda: None)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return {item.name: item for item in installed.installed()}


def test_packages_and_python(found):
    assert found["mitmproxy"].version == importlib.metadata.version("mitmproxy")
    assert found["python"].version == platform.python_version()
    missing = found["vllm-mlx"]
    assert (missing.there, missing.version, missing.need) == (False, None, "optional")
    assert missing.mend == "pip install vllm-mlx"


def test_programs(found):
    assert (found["node"].there, found["node"].version) == (True, "22.3.1")
    assert (found["claude"].there, found["claude"].version) == (True, None)
    assert (found["npm"].there, found["uv"].there) == (False, False)
    assert "Node.js 20" in found["npm"].mend


def test_tokenizers(found):
    assert [found[name].exact for name in ("qwen2.5", "claude")] == [True, False]


def test_every_missing_thing_can_be_mended(found):
    assert all(item.mend for item in found.values() if not item.there)
