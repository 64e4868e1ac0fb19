from io import StringIO

import pytest
from rich.console import Console

from cachediag.report.diff import DiffReport
from cachediag.report.session import CausesReport, RequestsReport, tally
from tests.analysis.sessions import main, recorded, sub_agent, title, walked
from tests.compare.bodies import HEADER, body, held


def shown(report, width=80, encoding="utf-8", **options):
    class Sink(StringIO):
        pass

    sink = Sink()
    Sink.encoding = encoding
    Console(file=sink, width=width, highlight=False, markup=False, **options).print(report)
    return sink.getvalue()


def _pair():
    b = body()
    b["system"][0]["text"] = HEADER.format("1c8b4")
    b["messages"].append({"role": "user", "content": "Go on."})
    return held(body(), b)


def test_the_answer_then_the_evidence():
    text = shown(DiffReport(_pair(), "request 0 → 2"))
    assert text.splitlines() == [
        "request 0 → 2   anthropic",
        "",
        "The shared prefix ends after 3 of 11 blocks, in system[0].text.",
        "",
        "✗ V01 billing header                                                   confirmed",
        "  system[0].text, byte 648 of the body",
        "  - …fa9; cc_entrypoint=cli; cch=6c09a;",
        "  + …fa9; cc_entrypoint=cli; cch=1c8b4;",
        "                                 ^^^^^",
        "  The billing header changes between requests, and means nothing to the model.",
        "  fix   cachediag rules new -o rules.toml",
        "  or    CLAUDE_CODE_ATTRIBUTION_HEADER=0",
        "",
        "Without it all 11 earlier blocks would be shared.",
        "harmless: 1 block appended (N01)",
        "",
        "blocks     same  changed  gone  new",
        "tools         3                    ",
        "system        1        1           ",
        "messages      6                   1",
        "raw bytes  1,700 and 1,735, first difference at 503, messages[3]",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width):
    found = _pair()
    lines = shown(DiffReport(found, "x" * 300), width).splitlines()
    assert max(map(len, lines)) <= width


def test_without_utf_8_there_are_plain_signs():
    text = shown(DiffReport(_pair(), "request 0 → 2"), encoding="ascii")
    assert "x V01 billing header" in text
    assert "request 0 -> 2" in text


def test_colour_marks_the_changed_characters_only():
    text = shown(DiffReport(_pair(), "p"), force_terminal=True, color_system="standard")
    assert "cch=\x1b[1;31m6c09a\x1b[0m;" in text
    assert "cch=\x1b[1;32m1c8b4\x1b[0m;" in text


def test_captured_text_never_reaches_the_terminal_raw():
    b = body()
    b["system"][1]["text"] += "\n\x1b]0;t\x07 [red]x[/red] \u202eabc"
    text = shown(DiffReport(held(body(), b), "a\x1b[2Jb"), 200)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\e]0;t\\x07 [red]x[/red] \\u202eabc" in text


def _session():
    return tuple(
        walked(
            recorded(
                [
                    title("x"),
                    main(header="aaaa1"),
                    main("t1", header="aaaa2"),
                    sub_agent("Look", header="aaaa3"),
                    main("t1", "t2", header="aaaa4"),
                ]
            )
        )
    )


def test_a_session_is_a_line_a_request():
    lines = shown(RequestsReport(_session())).splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "# lane kind TTFT blocks shared since its parent",
        "0 title auxiliary 2 first of its conversation",
        "1 main turn 11 first of its conversation",
        "2 main turn 13 3 ✗ V01 billing header",
        "3 agent subagent 6 first of its conversation",
        "4 main turn 15 3 ✗ V01 billing header",
    ]


def test_a_sessions_causes_are_told_once_with_the_next_command():
    text = shown(CausesReport(_session(), "mine"))
    assert text.startswith("2 of 2 later requests broke a prefix shared with an earlier one.\n")
    assert text.count("V01 billing header") == 1
    assert "in 2 requests, first 1 → 2" in text
    assert "next   cachediag diff mine --pair 1:2" in text
    (row,) = tally(_session())
    assert (row.finding.code, row.requests, row.parent, row.first) == ("V01", 2, 1, 2)


def test_a_healthy_session_says_so():
    text = shown(CausesReport(tuple(walked(recorded([main(), main("t1")]))), ""))
    assert text == "No request broke a prefix shared with an earlier one.\n"
