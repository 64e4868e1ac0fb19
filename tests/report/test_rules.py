"""How rules tried on a session look in a terminal."""

import json
from dataclasses import replace

import pytest

from cachediag.report.documents import dumps
from cachediag.report.rules import CheckReport, ExplainReport
from cachediag.report.rules_documents import checked, explained
from cachediag.rules.explain import explain
from cachediag.rules.rule import Rule, RuleSet
from tests.analysis.sessions import recorded
from tests.report.test_diff import shown
from tests.rules.trials import CCH, DROP, in_system, rotating, steady, tried

NOW = Rule("clock", "V02", "move-to-end", "messages", "system[1].text", r"^(Now: [^\n]{1,40})")
OFF = replace(NOW, id="later", enabled=False)


def report(*rules, bodies=None, width=80, **options):
    made = tried(rotating() if bodies is None else bodies, *rules)
    return shown(CheckReport(made, "2026-11-29-2341", "rules.toml", "old"), width, **options)


def test_what_is_saved_what_is_told_and_that_it_is_safe():
    made = tried(rotating(), DROP, OFF)
    saved, size = made.rules[0].tokens_saved, made.rules[0].size
    (none, kept), (before, after) = made.caches, made.shared_tokens
    assert none.reused_tokens == (0, 0)
    right = f"+{saved:,} tokens"
    assert report(DROP, OFF).splitlines() == [
        "rules.toml against 2026-11-29-2341   4 requests",
        "profile vllm-mlx@0.2.6   tokens qwen2.5   exact",
        "",
        "strip-header   V01   drop-block system[0]".ljust(80 - len(right)) + right,
        f"  4 requests, {size} bytes",
        "  the model no longer sees",
        "    x-anthropic-billing-header: cc_version=2.1.113.fa9; cc_entrypoint=cli;",
        "    cch=…;",
        "",
        "later   V02   move-to-end system[1].text                   disabled, not applied",
        "",
        "hit rate, none                          0.0% → 0.0%   the engine keeps no cache",
        f"hit rate, {kept.engine}    {kept.hit_rates[0]:.1%} → {kept.hit_rates[1]:.1%}",
        f"shared with earlier requests            {before:,} → {after:,} tokens",
        "sharing all of their parent             main: 0 → 3 of 3",
        "",
        "safe   no rule touches text of the user or of the model",
        "next   cachediag fix strip --rules rules.toml --upstream URL",
    ]


def test_a_refusal_names_the_rules_the_place_and_what_to_do():
    lines = report(DROP, CCH).splitlines()
    assert lines[-6:] == [
        "✗ refused: strip-header, still-cch: change the same bytes, so that only one of",
        "  them has its way",
        "  request 1, system[0].text",
        "  fix   Leave one of them out, or narrow one so that they stand apart.",
        "",
        "next   cachediag rules explain old rules.toml   what each rule does",
    ]


def test_a_warning_is_no_refusal():
    text = report(DROP, bodies=steady())
    assert "! strip-header: saves no tokens in this session" in text
    assert "\nsafe   " in text


def test_what_each_action_does_to_what_is_told():
    bodies = [
        in_system(made, f"Now: 12:0{n}\nCurrent branch: b{n}") for n, made in enumerate(steady())
    ]
    pin = Rule(
        "branch", "V05", "pin", "messages", "system[1].text", r"^Current branch: ([a-z0-9]{1,9})"
    )
    text = report(NOW, pin, bodies=bodies)
    assert "  told at the end of the newest message\n    Now: 12:…\n" in text
    assert "  stays what it first was\n    … → b0\n" in text
    assert "  the model sees another text\n    … → 00000\n" in report(CCH)


HOSTILE = "Now: \x1b[31m\u202e\x07 12:0{}"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_nothing_captured_acts_on_the_terminal_and_no_line_is_too_wide(width, encoding):
    bodies = [in_system(made, HOSTILE.format(n)) for n, made in enumerate(rotating())]
    rules = (DROP, NOW, replace(NOW, id="x" * 90, path="system[9].text"))
    made = tried(bodies, *rules)
    shows = explain("\x1b[2J", recorded(bodies), RuleSet(rules), 2)
    for each in (
        CheckReport(made, "\x1b[2J", "r\x1b.toml", "\x1b"),
        ExplainReport(shows, "\x1b[2J", "r\x1b.toml"),
    ):
        text = shown(each, width, encoding)
        assert not set(text) & {"\x1b", "\u202e", "\x07"}
        assert max(map(len, text.splitlines())) <= width
        # What cuts a line at the terminal's edge is rich's own sign.
        text.replace("…", "").encode(encoding)


def test_a_request_rule_by_rule():
    shows = explain("s", recorded(rotating()), RuleSet((DROP, replace(CCH, enabled=False), OFF)), 1)
    assert shown(ExplainReport(shows, "s", "rules.toml")).splitlines() == [
        "request 1 of s   under rules.toml",
        "",
        "strip-header   V01   drop-block system[0]",
        "  for V01, billing header",
        "  system[0], 106 bytes",
        "  - x-anthropic-billing-header: cc_version=2.1.113.fa9; cc_entrypoint=cli; cch=…",
        "    the model no longer sees it",
        "",
        "still-cch   V01   replace system[0].text               disabled; if it were not:",
        "  for V01, billing header",
        "  system[0].text, 5 bytes",
        "  - …fa9; cc_entrypoint=cli; cch=00001;",
        "  + …fa9; cc_entrypoint=cli; cch=00000;",
        "                                 ^^^^^",
        "",
        "later   V02   move-to-end system[1].text               disabled; if it were not:",
        "  for V02, date or time",
        "  changes nothing here",
        "",
        "next   cachediag rules check rules.toml   what they save in all",
    ]
    none = explain("s", recorded(rotating()), RuleSet((replace(DROP, protocol="chat"),)))
    assert shown(ExplainReport(none, "s", "r.toml", "a s")).splitlines() == [
        "No rule of r.toml changes any request of s.",
        "",
        "next   cachediag diff 'a s'   what broke its prefixes",
    ]


def test_the_documents_say_the_same():
    made = tried(rotating(), DROP, replace(DROP, id="late", path="system[7]"), OFF)
    document = json.loads(dumps(checked(made, "s", "rules.toml")))
    assert document["schema"] == "cachediag.rules-check/1"
    assert document["safe"] is True
    assert document["engine"] == "none"
    first, late, off = document["rules"]
    assert (first["requests"], first["places"], first["tokens_saved"]) == (
        4,
        4,
        made.rules[0].tokens_saved,
    )
    assert first["told"][0]["after"] == ""
    assert (late["requests"], off["enabled"]) == (0, False)
    assert document["with_cache"]["hit_rate"]["after"] > 0.6
    assert document["totals"]["shared_tokens"] == dict(
        zip(("before", "after"), made.shared_tokens, strict=True)
    )
    assert document["lanes"] == [
        {"lane": "main", "later_requests": 3, "whole": {"before": 0, "after": 3}}
    ]
    assert [found["reason"] for found in document["warnings"]] == ["never-fires"]
    refused = checked(tried(rotating(), DROP, CCH), "s", "rules.toml")
    assert refused["safe"] is False
    assert refused["refusals"][0]["rules"] == ["strip-header", "still-cch"]


def test_the_document_of_one_request():
    shows = explain("s", recorded(rotating()), RuleSet((CCH,)), 3)
    document = explained(shows, "s", "rules.toml")
    assert document["request"] == 3
    assert document["rules"][0]["changes"] == [
        {"path": "system[0].text", "before": "00003", "after": "00000", "bytes": 5}
    ]
