"""Consoles of their own for tests that say what the terminal is."""

from collections.abc import Iterator

import pytest

from cachediag.cli import console


@pytest.fixture(autouse=True)
def new_consoles() -> Iterator[None]:
    """Forget the consoles before a test and behind it: the next test has another terminal."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    for cached in (console.out, console.err):
        cached.cache_clear()
