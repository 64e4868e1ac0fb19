import stat

from cachediag.rules.file import parse_rules, read_rules
from cachediag.session import Session
from tests.analysis.sessions import main, recorded
from tests.cli.running import ran

OPTIONS = ("--profile", "vllm-mlx@0.2.6", "--model", "qwen2.5")


def test_the_rules_of_a_session_are_written(capsys, session, tmp_path):
    path = tmp_path / "rules.toml"
    done = ran(capsys, "rules", "new", "stock", "-o", path, *OPTIONS)
    assert (done.code, done.out) == (0, "")
    ruleset = read_rules(path)
    assert [(rule.id, rule.finding, rule.enabled) for rule in ruleset.rules] == [
        ("strip-billing-header", "V01", True)
    ]
    assert (ruleset.profile, ruleset.model) == ("vllm-mlx@0.2.6", "qwen2.5")
    saved = f"{ruleset.rules[0].evidence.tokens_saved:,}"
    assert done.err.startswith(
        f"1 rule in {path}, enabled, for the prefixes broken in 3 requests\n"
        f"  strip-billing-header   3 requests   {saved} tokens   V01 billing header\n"
        "\n"
        f"next   cachediag rules check stock {path}"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Made from the session stock.\n")
    assert "# The model no longer sees the header, which means nothing to it.\n[[rule]]\n" in text


def test_what_is_written_holds_when_it_is_checked(capsys, session, tmp_path):
    path = tmp_path / "rules.toml"
    ran(capsys, "rules", "new", "-o", path, *OPTIONS)
    done = ran(capsys, "rules", "check", path)
    assert done.code == 0
    assert "\nsafe   no rule touches text of the user or of the model\n" in done.out


def test_without_a_file_the_rules_are_printed(capsys, session):
    done = ran(capsys, "rules", "new", *OPTIONS)
    assert done.code == 0
    assert [rule.id for rule in parse_rules(done.out, "-").rules] == ["strip-billing-header"]
    assert done.err.startswith("1 rule, enabled, for the prefixes broken in 3 requests\n")
    assert "next   cachediag rules check rules.toml" in done.err


def test_a_file_that_is_there_stays_as_it_is(capsys, session, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text("mine")
    done = ran(capsys, "rules", "new", "-o", path)
    assert (done.code, done.out) == (2, "")
    assert done.err == (f"cachediag: {path}: exists already\n           Give a new file: -o FILE\n")
    assert path.read_text() == "mine"


def test_a_file_that_cannot_be_written(capsys, session, tmp_path):
    path = tmp_path / "nowhere" / "rules.toml"
    done = ran(capsys, "rules", "new", "-o", path)
    assert done.code == 2
    assert f"cachediag: {path}: cannot be written (No such file or directory)\n" in done.err


def test_a_healthy_session_needs_no_file(capsys, session, tmp_path):
    path = tmp_path / "rules.toml"
    done = ran(capsys, "rules", "new", "-o", path, "--profile", "vllm-mlx@0.6.0")
    assert (done.code, done.out) == (0, "")
    assert done.err == "No prefix of stock is broken: no rule is needed.\n"
    assert not path.exists()


def test_breaks_that_no_rule_answers_are_told_and_no_file_is_written(capsys, home, tmp_path):
    edited = main("t1")
    edited["messages"][0]["content"][1]["text"] = "Fix the berth plan, and the tide table."
    path = home / "sessions" / "edited.cachediag"
    path.parent.mkdir(parents=True)
    with Session.create(path) as made:
        for exchange in recorded([main(), edited]):
            made.append(exchange)
    file = tmp_path / "rules.toml"
    done = ran(capsys, "rules", "new", "edited", "-o", file)
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("no rule for the prefixes broken in 1 request\n")
    assert "No rule: none can undo" in done.err
    assert done.err.endswith("next   cachediag diff edited   see what broke them\n")
    assert not file.exists()
