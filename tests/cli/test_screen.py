import threading

import pytest

from cachediag.cli import screen as module
from cachediag.cli.screen import Screen


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(module, "_print", lambda line: lines.append(str(line)))
    return lines


def test_lines_are_kept_while_the_client_has_the_terminal(printed: list[str]) -> None:
    screen = Screen()
    screen.say("before")
    screen.hold(held=True)
    screen.say("one", "two")
    assert printed == ["before"]
    screen.hold(held=False)
    screen.say("after")
    assert printed == ["before", "one", "two", "after"]


def test_a_line_said_while_the_kept_ones_come_out_stands_after_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: list[str] = []
    said = threading.Event()

    def say_last() -> None:
        said.set()
        screen.say("last")

    other = threading.Thread(target=say_last)

    def slowly(line: object) -> None:
        if line == "one":
            other.start()
            said.wait()
            # Without a lock the other thread prints now.
            other.join(0.2)
        lines.append(str(line))

    monkeypatch.setattr(module, "_print", slowly)
    screen = Screen()
    screen.hold(held=True)
    screen.say("one", "two")
    screen.hold(held=False)
    other.join()
    assert lines == ["one", "two", "last"]
