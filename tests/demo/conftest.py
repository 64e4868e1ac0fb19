from pathlib import Path

import pytest

from cachediag.demo.script import Script, script


@pytest.fixture(scope="session")
def words() -> Script:
    return script()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path / "home"))
    return tmp_path / "home"
