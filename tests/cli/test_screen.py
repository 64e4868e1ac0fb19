import threading

import pytest
import typer

from cachediag.cli import screen as module
from cachediag.cli.console import err
from cachediag.cli.screen import Screen
from cachediag.report.style import line


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


def test_a_row_is_cut_where_the_terminal_ends_and_what_is_said_is_not(capsys) -> None:
    width = err().width
    screen = Screen()
    screen.say(line("row ", "word " * width), f"said {'word ' * width}")
    row, said = capsys.readouterr().err.splitlines()
    assert len(row) == width
    assert row.startswith("row word ")
    assert row.endswith("…")
    assert said.rstrip() == f"said {'word ' * width}".rstrip()


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


def test_a_terminal_that_has_stalled_holds_nobody_up_and_gets_all_once_it_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: list[str] = []
    moving = threading.Event()

    def print_when_it_moves(line: object) -> None:
        moving.wait()
        lines.append(str(line))

    monkeypatch.setattr(module, "_print", print_when_it_moves)
    monkeypatch.setattr(module, "_STALLED_SECONDS", 0.01)
    screen = Screen()
    other = threading.Thread(target=screen.say, args=("stored",))
    other.start()
    other.join()
    screen.say("end")
    assert lines == []
    ended: list[int] = []
    monkeypatch.setattr("os._exit", ended.append)
    with pytest.raises(typer.Exit):
        screen.leave(3)
    assert ended == [3]
    monkeypatch.setattr(module, "_STALLED_SECONDS", 60)
    moving.set()
    with pytest.raises(typer.Exit) as left:
        screen.leave(4)
    assert (left.value.exit_code, ended) == (4, [3])
    assert lines == ["stored", "end"]


def test_a_line_that_cannot_be_printed_is_the_only_one_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: list[str] = []

    def print_or_fail(line: object) -> None:
        if line == "bad":
            raise ValueError("no such character")
        lines.append(str(line))

    monkeypatch.setattr(module, "_print", print_or_fail)
    Screen().say("one", "bad", "two")
    assert lines == ["one", "two"]
