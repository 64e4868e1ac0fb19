"""The scripted engine in the place of those that need an extra."""

import pytest

from cachediag.lint.grammar import costs
from cachediag.lint.grammar.engine import ENGINES


@pytest.fixture
def scripted(monkeypatch):
    """Two engines, one of them not installed."""
    monkeypatch.setitem(ENGINES, "scripted", "tests.lint.grammar.scripted")
    monkeypatch.setattr(costs, "installed", lambda: ({"scripted": "1.2"}, ("absent",)))
