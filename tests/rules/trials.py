"""Made-up sessions, and rules tried on them."""

from collections.abc import Sequence

from cachediag.analysis.choice import Choice, choose
from cachediag.rules.check import Checked, check
from cachediag.rules.rule import Rule, RuleSet
from tests.analysis.sessions import main, recorded
from tests.compare.bodies import RULES, Body

HEADER = r"\Ax-anthropic-billing-header: [ -~]{1,200}\z"
DROP = Rule("strip-header", "V01", "drop-block", "messages", "system[0]", pattern=HEADER)
CCH = Rule(
    "still-cch",
    "V01",
    "replace",
    "messages",
    "system[0].text",
    pattern=r"\Ax-anthropic-billing-header: [ -~]{1,100}; cch=([0-9a-f]{5});",
    value="00000",
)


def rotating(count: int = 4) -> list[Body]:
    """A conversation whose billing header is new on every request."""
    return [main(*map(str, range(n)), header=f"{n:05x}") for n in range(count)]


def steady(*texts: str, count: int = 3) -> list[Body]:
    """A conversation in which nothing changes, with further system blocks."""
    return [in_system(main(*map(str, range(n))), *texts) for n in range(count)]


def in_system(made: Body, *texts: str) -> Body:
    """The request with further system blocks, before the last one."""
    made["system"] = [
        made["system"][0],
        *({"type": "text", "text": text} for text in texts),
        {"type": "text", "text": RULES},
    ]
    return made


def choice(engine: str | None = None, profile: str = "vllm-mlx@0.2.6") -> Choice:
    """What sessions are played by: a backend that keeps the billing header."""
    return choose("messages", profile_spec=profile, model_spec="qwen2.5", engine_spec=engine)


def tried(bodies: Sequence[Body | bytes], *rules: Rule, engine: str | None = None) -> Checked:
    """Rules tried on a session."""
    return check(recorded(bodies), RuleSet(rules), choice(engine))


def refused(checked: Checked) -> list[tuple[str, tuple[str, ...]]]:
    """Reason and rules of each refusal."""
    return [(found.reason, found.rules) for found in checked.refusals]
