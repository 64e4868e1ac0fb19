"""The table of clients, and how a request tells who sent it."""

import json
import re
from datetime import date
from pathlib import Path

import pytest

from cachediag import findings
from cachediag.fix.switches import clients, recognised
from cachediag.model import Exchange, ExchangeInfo, Finding
from tests.compare.bodies import HEADER, body

(CLAUDE,) = clients()
SWITCHES = {switch.name: switch for switch in CLAUDE.switches}
ASSIGNED = re.compile(r"([A-Z][A-Z0-9_]+)=(\S+)")


def sent(made: object, agent: str | None = None) -> Exchange:
    headers = {} if agent is None else {"user-agent": agent}
    told = made if isinstance(made, bytes) else json.dumps(made).encode()
    return Exchange(ExchangeInfo(endpoint="messages", path="/v1/messages", headers=headers), told)


def who(made: object, agent: str | None = None) -> str | None:
    exchange = sent(made, agent)
    sender = recognised(exchange.info, lambda: exchange.request)
    return None if sender is None else str(sender)


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("claude-cli/2.1.113 (external, sdk-cli)", "Claude Code 2.1.113"),
        ("claude-cli/2.1.19 (external, cli)", "Claude Code 2.1.19"),
        ("QwenCode/0.15.10 (linux; x64)", None),
        ("curl, after claude-cli/2.1.113", None),
    ],
)
def test_the_user_agent_tells_the_client_and_its_release(agent, expected):
    assert who(body(), agent) == expected


HASH = "5d41402abc4b2a765d41402abc4b2a765d41402abc4b2a765d41402abc4b2a76"
LINE = HEADER.format("6c09a")


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (body(), "Claude Code 2.1.113"),
        ({"system": f"{LINE}\nYou plan berths."}, "Claude Code 2.1.113"),
        ({"instructions": LINE, "input": []}, "Claude Code 2.1.113"),
        ({"messages": [{"role": "system", "content": LINE}]}, "Claude Code 2.1.113"),
        ({"messages": [{"role": "user", "content": LINE}]}, None),
        ({"system": f"Nothing but {LINE}"}, None),
        ({"metadata": {"user_id": f"user_{HASH}_account__session_1"}}, "Claude Code"),
        ({"metadata": {"user_id": f'{{"device_id":"{HASH}","session_id":"1"}}'}}, "Claude Code"),
        ({"metadata": {"user_id": "user_7"}}, None),
        ({"metadata": None, "system": []}, None),
    ],
)
def test_without_a_user_agent_what_the_client_puts_into_the_body_does(made, expected):
    assert who(made) == expected


def test_another_clients_user_agent_outweighs_the_body():
    assert who(body(), "litellm/1.0") is None


def finding(code: str, path: str | None = None, message: str = "It changed.") -> Finding:
    return Finding(code=code, severity="break", path=path, message=message)


def answering(found: Finding, made: object) -> set[str]:
    told = json.dumps(made).encode()
    return {name for name, switch in SWITCHES.items() if switch.answers(found, lambda: told)}


def test_the_billing_header_has_its_switch():
    assert answering(finding("V01", "system[0].text"), body()) == {"CLAUDE_CODE_ATTRIBUTION_HEADER"}


STATUS = "Mind the tide.\n\ngitStatus: as it was when the talk began\n M src/berths.py"


def test_a_snapshot_has_one_where_it_is_gits():
    made = {"system": [{"type": "text", "text": STATUS}, {"type": "text", "text": "Be brief."}]}
    git = {"CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS"}
    assert answering(finding("V05", "system[0].text"), made) == git
    assert answering(finding("M06", "system[0]"), made) == git
    assert answering(finding("V05", "system[1].text"), made) == set()
    assert answering(finding("V05", None), made) == set()
    assert answering(finding("V05", 'tools[0]["a b"]'), made) == set()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<total_tokens>14999890 tokens left</total_tokens>", True),
        ([{"type": "text", "text": "<total_tokens>9 tokens left</total_tokens>"}], True),
        ("The mode is plan.", False),
    ],
)
def test_an_inline_system_message_has_one_where_it_counts_tokens(content, expected):
    made = {"messages": [{"role": "user", "content": "Go"}, {"role": "system", "content": content}]}
    found = answering(finding("S07", "messages[1]"), made)
    assert found == ({"CLAUDE_CODE_TOTAL_TOKENS_REMINDER"} if expected else set())


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Title took the slot.", True),
        ("Dropped to make room for title-2.", True),
        ("Agent took the slot.", False),
        ("Untitled took the slot.", False),
    ],
)
def test_a_slot_has_one_where_a_title_took_it(message, expected):
    found = answering(finding("P01", message=message), body())
    assert found == ({"CLAUDE_CODE_DISABLE_TERMINAL_TITLE"} if expected else set())


def test_an_hour_is_asked_for_only_where_it_is_not_yet():
    made = body()
    assert answering(finding("M05"), made) == {"ENABLE_PROMPT_CACHING_1H"}
    made["system"][1]["cache_control"]["ttl"] = "1h"
    assert answering(finding("M05"), made) == set()


def test_a_finding_of_another_kind_has_none():
    assert answering(finding("S04", "messages[0].content"), body()) == set()


@pytest.mark.parametrize(
    ("version", "expected"),
    [("2.1.77", False), ("2.1.78", True), ("2.1.113", True), ("2.2.0", True), (None, True)],
)
def test_a_release_before_the_switch_has_it_not(version, expected):
    assert SWITCHES["CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS"].is_in(version) is expected
    assert SWITCHES["CLAUDE_CODE_ATTRIBUTION_HEADER"].is_in(version)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("0", True), ("FALSE", True), (" off ", True), ("1", False), ("", False)],
)
def test_the_values_that_switch_it(value, expected):
    assert SWITCHES["CLAUDE_CODE_ATTRIBUTION_HEADER"].is_on(value) is expected


@pytest.mark.parametrize("switch", SWITCHES.values(), ids=SWITCHES)
def test_every_switch_says_what_it_does_and_how_that_is_known(switch):
    assert set(switch.codes) <= set(findings.all_codes())
    assert switch.removes
    assert switch.effects
    assert all(re.fullmatch(r".*\.", effect) for effect in switch.effects)
    assert switch.tested
    assert all(source.startswith("https://") for source in switch.sources)
    assert all(switch.is_in(version) for version in switch.tested)


def test_the_table_is_dated():
    assert CLAUDE.checked >= date(2026, 11, 29)


def test_the_pages_of_the_findings_name_switches_that_there_are():
    named = {}
    for code in findings.all_codes():
        if match := ASSIGNED.fullmatch(findings.load(code).fix):
            named[code] = match[1]
            assert code in SWITCHES[match[1]].codes
            assert match[2] == SWITCHES[match[1]].value
    assert set(named) >= {"V01", "S07"}


def test_where_the_settings_files_are(tmp_path):
    environ = {"HOME": "/home/dev"}
    places = [(file.kind, file.place(environ, tmp_path)) for file in CLAUDE.files]
    assert places[-3:] == [
        ("local", tmp_path / ".claude/settings.local.json"),
        ("project", tmp_path / ".claude/settings.json"),
        ("user", Path("/home/dev/.claude/settings.json")),
    ]
    moved = CLAUDE.file("user").place(environ | {"CLAUDE_CONFIG_DIR": "/etc/own"}, tmp_path)
    assert moved == Path("/etc/own/settings.json")


def test_no_body_is_asked_for_where_the_user_agent_tells():
    def body() -> bytes:
        raise AssertionError

    told = sent(b"", "claude-cli/2.1.113")
    assert recognised(told.info, body) is not None
    assert SWITCHES["CLAUDE_CODE_ATTRIBUTION_HEADER"].answers(finding("V01"), body)
