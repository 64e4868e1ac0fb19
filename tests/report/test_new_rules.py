import io

from rich.console import Console

from cachediag.report.new_rules import NewRulesReport
from cachediag.rules.generate import Generated
from cachediag.rules.rule import Evidence, Rule, RuleSet

STRIP = Rule(
    "strip-billing-header",
    "V01",
    "drop-block",
    "messages",
    "system[0]",
    evidence=Evidence(9, 188_864, False),
)
MOVE = Rule(
    "move-text",
    "V06",
    "move-to-end",
    "messages",
    "system[2].text",
    enabled=False,
    evidence=Evidence(1, 0, True),
)
REMARK = "S04 earlier message edited, at messages[0], in 1 request. No rule: none can undo it."


def shown(rules, *, requests=10, remarks=(), given="", file="rules.toml"):
    generated = Generated(RuleSet(tuple(rules)), {}, remarks, requests)
    out = io.StringIO()
    console = Console(file=out, width=80, markup=False, highlight=False)
    console.print(NewRulesReport(generated, "stock", given, file))
    return out.getvalue()


def test_what_was_made():
    assert shown([STRIP, MOVE], remarks=(REMARK,), given="stock") == (
        "2 rules in rules.toml, 1 enabled, for the prefixes broken in 10 requests\n"
        "  strip-billing-header   9 requests   about 188,864 tokens   V01 billing header\n"
        "  move-text              1 request    not enabled            V06 other changing…\n"
        "\n"
        "S04 earlier message edited, at messages[0], in 1 request. No rule: none can undo\n"
        "it.\n"
        "\n"
        "next   cachediag rules check stock rules.toml\n"
    )


def test_how_many_are_enabled():
    assert shown([STRIP]).startswith("1 rule in rules.toml, enabled, for")
    assert shown([MOVE]).startswith("1 rule in rules.toml, not enabled, for")
    assert shown([STRIP, STRIP]).startswith("2 rules in rules.toml, all enabled, for")
    assert shown([MOVE, MOVE], file=None).startswith("2 rules, none enabled, for")


def test_nothing_to_do():
    healthy = "No prefix of stock is broken: no rule is needed.\n"
    assert shown([], requests=0) == healthy
    assert shown([], requests=0, remarks=("P06 the key.",)) == f"{healthy}P06 the key.\n"


def test_what_was_recorded_cannot_act_on_a_terminal():
    assert "\x1b" not in shown([], remarks=("at tools[name=\x1b[2J]",), given="\x1b", file="\x1b")
