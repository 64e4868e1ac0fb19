"""`cachediag rules explain`."""

import json

from tests.cli.running import ran


def test_the_last_request_that_a_rule_changes(capsys, session, rules):
    done = ran(capsys, "rules", "explain", rules)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"request 3 of stock   under {rules}\n")
    assert "cch=00003;" in done.out
    assert "    the model no longer sees it" in done.out


def test_one_request_as_json(capsys, session, rules):
    done = ran(capsys, "rules", "explain", "stock", rules, 1, "--format", "json")
    made = json.loads(done.out)
    assert (made["schema"], made["request"]) == ("cachediag.rules-explain/1", 1)
    (change,) = made["rules"][0]["changes"]
    assert change["path"] == "system[0]"
    assert change["before"].endswith("cch=00001;")
    assert change["after"] == ""


def test_a_request_that_is_not_there(capsys, session, rules):
    done = ran(capsys, "rules", "explain", rules, 9)
    assert (done.code, done.out) == (2, "")
    assert "no request 9" in done.err
