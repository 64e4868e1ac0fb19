"""The switches as a script that a shell takes, and what is said of a settings file."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from cachediag.fix.offers import Offer, Offers, Unanswered
from cachediag.fix.settings import Changed, Undone, Written
from cachediag.fix.switches import Sender, clients
from cachediag.report.switches import UndoneReport, WrittenReport, fragment, script
from tests.report.test_diff import shown

(CLAUDE,) = clients()
SENDER = Sender(CLAUDE, "2.1.113")
HEADER, REMINDER = CLAUDE.switches[:2]
NAME = HEADER.name


def made(*offers, open_=(), unknown=(), exact=True):
    senders = ((SENDER, 5),) if not unknown else ()
    return Offers(senders=senders, unknown=unknown, offers=offers, open=open_, exact=exact)


def offer(switch=HEADER, codes=("V01",), requests=4, tokens=257_191):
    return Offer(switch=switch, sender=SENDER, codes=codes, requests=requests, tokens=tokens)


def test_the_answer_comes_first_and_the_next_command_last():
    text = script(made(offer()), "2026-11-29-2341", "")
    lines = text.splitlines()
    assert lines[0] == "# 2026-11-29-2341: 1 switch of Claude Code 2.1.113 removes V01."
    assert lines[2] == "# V01 billing header, in 4 requests, 257,191 tokens prefilled again"
    assert f"export {NAME}=0" in lines
    assert lines[-1] == "# next   cachediag fix env --write"
    assert max(map(len, lines)) <= 80


def test_an_estimate_says_so():
    assert ", about 257,191 tokens" in script(made(offer(), exact=False), "s", "")


def test_several_switches():
    text = script(made(offer(), offer(REMINDER, ("S07",), 1, 0)), "s", "")
    assert text.startswith("# s: 2 switches of Claude Code 2.1.113 remove V01, S07.\n")
    assert "# S07 inline system message moved to the front, in 1 request\n" in text


def test_none_is_told_with_the_reason_and_the_client():
    left = (
        Unanswered(code="V06", requests=3, reason="no switch of Claude Code is known for this"),
        Unanswered(code="S04", requests=1, reason="no switch of Claude Code is known for this"),
    )
    text = script(made(open_=left), "s", "")
    assert text == (
        "# s: no switch is known that removes what was found.\n"
        "#   Claude Code 2.1.113, 5 requests\n"
        "\n"
        "# no switch of Claude Code is known for this:\n"
        "#   V06 other changing text, in 3 requests\n"
        "#   S04 earlier message edited, in 1 request\n"
        "\n"
        "# next   cachediag explain V06\n"
    )


def test_an_unknown_client_is_named_as_it_named_itself():
    left = (Unanswered(code="V01", requests=3, reason="the switches of this client are not known"),)
    unknown = (("evil\x1b[31m\n$(touch x)", 3), ("", 1))
    lines = script(made(open_=left, unknown=unknown), "s", "").splitlines()
    assert lines[1] == "#   unknown client evil\\e[31m\\n$(touch x), 3 requests"
    assert lines[2] == "#   unknown client that did not name itself, 1 request"
    assert all(line.startswith("#") or not line for line in lines)


def test_nothing_found():
    assert script(made(), "s", "s") == (
        "# s: nothing was found that a switch could remove.\n\n# next   cachediag analyze s\n"
    )


@pytest.mark.parametrize("session", ["plain", "two words", "new\nline; echo no", "$(echo no)"])
def test_a_shell_takes_it(session, tmp_path):
    text = script(made(offer(), offer(REMINDER, ("S07",))), session, session)
    shell = ["sh", "-eu", "-c", 'eval "$1"; env | grep CLAUDE_CODE | sort; ls', "sh", text]
    environ = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        shell, check=True, capture_output=True, text=True, cwd=tmp_path, env=environ
    )
    assert done.stderr == ""
    assert done.stdout == f"{NAME}=0\n{REMINDER.name}=off\n"


def test_the_fragment_is_json():
    assert json.loads(fragment(made(offer()))) == {"env": {NAME: "0"}}
    assert json.loads(fragment(made())) == {"env": {}}


def written(*changes, plain=True, backup=None):
    return Written(Path.home() / ".claude/settings.json", changes, backup, plain)


def test_what_was_set():
    backup = Path.home() / ".claude/settings.json.cachediag-backup"
    done = written(Changed(NAME, "1", "0"), Changed("B", None, "x"), backup=backup)
    assert shown(WrittenReport(done, "Claude Code", False)) == (
        "~/.claude/settings.json: 2 switches set\n"
        f"  {NAME}   1 → 0\n"
        f"  {'B':<{len(NAME)}}   not set → x\n"
        "In effect when Claude Code is started again.\n"
        "what it was before: ~/.claude/settings.json.cachediag-backup\n"
        "\n"
        "next   cachediag fix status       see what is in place\n"
        "       cachediag fix env --undo   take it back\n"
    )


def test_a_file_that_was_named_is_named_to_take_it_back_too():
    done = written(Changed(NAME, None, "0"))
    text = shown(WrittenReport(done, "Claude Code", False, Path("my $(x)/s.json")))
    assert "cachediag fix env --undo --file 'my $(x)/s.json'   take it back\n" in text


def test_nothing_to_set():
    text = shown(WrittenReport(written(), "Claude Code", False))
    assert text.startswith("~/.claude/settings.json: all set already, nothing was changed\n")
    assert "--undo" not in text


def test_a_file_that_the_client_does_not_read_is_pointed_out():
    done = written(Changed(NAME, None, "0"), plain=False)
    text = shown(WrittenReport(done, "Claude Code", False))
    assert "! Claude Code reads no settings file with comments\n" in text
    assert "In effect" not in text
    assert "reads no settings" not in shown(WrittenReport(done, "Other", True))


def test_what_was_taken_back(tmp_path):
    path = tmp_path / "settings.json"
    exact = Undone(path, (Changed(NAME, "0", None),), True, ())
    assert shown(UndoneReport(path, exact), width=300) == (
        f"{path} is gone, as before\n  {NAME}   0 → not set\n"
    )
    path.write_text("{}")
    assert shown(UndoneReport(path, exact), width=300).startswith(f"{path} is what it was before\n")
    mixed = Undone(path, (Changed("B", "1", "2"),), False, (NAME,))
    assert shown(UndoneReport(path, mixed), 300, "ascii") == (
        f"{path} was changed meanwhile; 1 switch taken out\n"
        "  B   1 -> 2\n"
        f"  {NAME} was changed by somebody else since, and stays\n"
    )
    assert shown(UndoneReport(path, None), width=300) == (
        f"{path}: cachediag has set nothing there\n"
    )
