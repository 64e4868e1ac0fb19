"""The look of an experiment's report."""

from io import StringIO

import pytest
from rich.console import Console

from cachediag.report.verify import VerifyReport
from cachediag.verify.verdict import verdict
from tests.verify.measurements import arm, experiment

SLOW = (13.4, 15.7, 16.8)
NEITHER = "Neither alone changes anything that can be told from noise."


def shown(made, width=80, encoding="utf-8", backend="vllm-mlx 0.3.0 (sandbox)"):
    file = StringIO()
    console = Console(file=file, width=width, color_system=None)
    options = console.options.update()
    options.encoding = encoding
    report = VerifyReport(verdict(made), made, backend)
    return [
        "".join(segment.text for segment in line).rstrip()
        for line in console.render_lines(report, options, pad=False)
    ]


def four(**both):
    hit = {"predicted": 950, "reused": 950, "first_token": 0.61} | both
    return experiment(
        arm("as-recorded", SLOW, cold=14.8, first_token=15.5),
        arm("rules-only", SLOW[::-1], cold=13.9, reused=None),
        arm("patch-only", SLOW, cold=114.2),
        arm("both", (0.48, 0.65, 0.71), cold=15.1, **hit),
        repeats=3,
    )


def test_the_four_arms() -> None:
    lines = shown(four())
    assert lines == [
        "vllm-mlx 0.3.0 (sandbox)",
        "4 requests × 3, arms interleaved   prompts of about 1,000 tokens",
        "caches cleared before each run",
        "",
        "                                                first  reused a warm turn,",
        "arm              cold  warm turn (95 %)         token  predicted / measured",
        "as recorded    14.8 s  15.7 s (13.4–16.8)      15.5 s          0 / 0",
        "rules only     13.9 s  15.7 s (13.4–16.8)           -          0 / not told",
        "patch only      114 s  15.7 s (13.4–16.8)           -          0 / 0",
        "both           15.1 s  0.65 s (0.48–0.71)      0.61 s        950 / 950",
        "",
        "Both together: 24 times faster warm turns.",
        NEITHER,
    ]


def test_the_commands_to_go_on_with_stand_at_the_end() -> None:
    made = four()
    report = VerifyReport(verdict(made), made, "x", {"cachediag fix \x1b": "what it is"})
    console = Console(width=80, color_system=None)
    with console.capture() as captured:
        console.print(report)
    assert captured.get().endswith(f"{NEITHER}\n\nnext   cachediag fix \\e   what it is\n")


def test_an_arm_that_reused_less_is_marked() -> None:
    lines = shown(four(reused=31))
    assert (
        lines[9] == "both           15.1 s  0.65 s (0.48–0.71)      0.61 s        950 / 31  ✗ less"
    )
    assert lines[13].startswith("The reuse that was predicted did not come in both: 3 of 3 warm")


def test_an_experiment_that_ended_early_says_so() -> None:
    made = experiment(arm("as-recorded", SLOW), interrupted=True)
    assert shown(made)[-1] == "Ended early: this is what was measured up to then."


@pytest.mark.parametrize("width", [80, 100])
def test_nothing_wraps(width) -> None:
    assert all(len(line) <= width for line in shown(four(reused=31), width))


def test_plain_letters_where_the_terminal_has_no_others() -> None:
    assert all(line.isascii() for line in shown(four(reused=31), encoding="ascii"))


def test_a_backends_name_cannot_act_on_the_terminal() -> None:
    assert shown(four(), backend="evil\x1b[2J")[0] == "evil\\e[2J"
