import pytest

from cachediag.rules.file import write_rules
from cachediag.rules.rule import RuleSet
from cachediag.session import Session
from tests.analysis.sessions import recorded
from tests.rules.trials import DROP, rotating


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("CACHEDIAG_HOME", str(home))
    return home


@pytest.fixture
def session(home):
    """A recorded conversation whose billing header rotates."""
    path = home / "sessions" / "stock.cachediag"
    path.parent.mkdir(parents=True)
    with Session.create(path) as made:
        for exchange in recorded(rotating()):
            made.append(exchange)
    return path


@pytest.fixture
def write(tmp_path):
    """Writes a rule file of some rules."""

    def written(*rules, profile="vllm-mlx@0.2.6", model="qwen2.5"):
        path = tmp_path / "rules.toml"
        path.write_text(write_rules(RuleSet(rules, profile, model)), encoding="utf-8")
        return path

    return written


@pytest.fixture
def rules(write):
    return write(DROP)
