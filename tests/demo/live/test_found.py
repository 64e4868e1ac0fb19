"""What is found in the live demo's session."""

from pathlib import Path

from cachediag.analysis.choice import Choice
from cachediag.demo.live.found import find


def test_the_header_breaks_every_later_request_and_a_rule_removes_it(
    session: Path, choice: Choice
) -> None:
    found = find(session, choice, "qwen2.5")
    assert [request.lane for request in found.requests] == ["main"] * 4
    assert [(cause.finding.code, cause.finding.path, cause.requests) for cause in found.causes] == [
        ("V01", "system[0].text", 3)
    ]
    assert found.pair is not None
    assert (found.pair.a, found.pair.b) == (0, 1)
    assert found.pair.view.exact
    assert found.pair.view.a == found.prompt_tokens[0] == found.pair.view.reusable
    assert found.pair.view.shared < 40
    assert list(found.prompt_tokens) == sorted(found.prompt_tokens)
    assert 3_500 < found.prefix_tokens < found.prompt_tokens[0]
    assert [rule.id for rule in found.generated.ruleset.enabled] == ["strip-billing-header"]
    assert found.generated.ruleset.model == "qwen2.5"
