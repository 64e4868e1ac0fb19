"""Rule sets of every kind, for property tests."""

from typing import Any

from hypothesis import strategies as st

from cachediag.findings import all_codes
from cachediag.rules.pattern import literal
from cachediag.rules.rule import SORT_BY, Evidence, Rule, RuleSet

__all__ = ["RULESETS", "rules"]

TEXTS = st.text(max_size=30)
TALK = {"messages": "messages", "chat": "messages", "responses": "input"}
SYSTEM = {"messages": "system[0].text", "chat": "messages[0].content", "responses": "instructions"}
IDS = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,3}", fullmatch=True)
TOOLS = st.text(st.characters(exclude_characters="]", codec="utf-8"), min_size=1, max_size=10)
TEXT_PATHS = st.one_of(
    TOOLS.map(lambda name: f"tools[name={name}].description"),
    st.sampled_from(["tools[*].input_schema.properties.path.description", "tools[3].description"]),
)
PATTERNS = st.builds(
    "{}{}{}{}".format,
    st.just(r"\A"),
    TEXTS.map(literal),
    st.sampled_from(["", "([0-9a-f]{2,8})", "(?:one|two)", "[^\\n'\"]{1,40}"]),
    st.sampled_from(["", r"\z", "$"]),
)
EVIDENCE = st.builds(
    Evidence,
    requests=st.integers(min_value=0, max_value=2**63),
    tokens_saved=st.integers(min_value=0),
    exact=st.booleans(),
    seen=st.lists(TEXTS, max_size=3).map(tuple),
)


@st.composite
def rules(draw: Any) -> Rule:
    protocol = draw(st.sampled_from(sorted(TALK)))
    talk = TALK[protocol]
    text_path = draw(TEXT_PATHS | st.just(SYSTEM[protocol]) | st.just(f"{talk}[2].content[1].text"))
    own: dict[str, Any]
    match draw(
        st.sampled_from(["drop-block", "replace", "sort", "move-to-end", "pin", "keep-inline"])
    ):
        case "drop-block" as action:
            path = "system[0]" if protocol == "messages" else f"{talk}[0].content[*]"
            own = {"path": path, "pattern": draw(PATTERNS)}
        case "replace" as action:
            own = {"path": text_path, "pattern": draw(PATTERNS), "value": draw(TEXTS)}
        case "sort" as action:
            by = draw(st.sampled_from(SORT_BY))
            path = {"name": "tools", "keys": f"{talk}[*].content[*].input"}.get(by, text_path)
            own = {"path": path, "by": by, "arguments": by == "keys" or draw(st.booleans())}
            if by in ("lines", "items"):
                own["pattern"] = draw(st.none() | PATTERNS)
        case "move-to-end" as action:
            own = {"path": text_path, "pattern": draw(st.none() | PATTERNS)}
        case "pin" as action:
            own = {"path": text_path, "pattern": draw(PATTERNS)}
        case action:
            own = {"path": f"{talk}[*]"}
    return Rule(
        id=draw(IDS),
        finding=draw(st.sampled_from(all_codes())),
        action=action,
        protocol=protocol,
        enabled=draw(st.booleans()),
        messages=draw(st.booleans()),
        evidence=draw(EVIDENCE),
        **own,
    )


RULESETS = st.builds(
    RuleSet,
    rules=st.lists(rules(), max_size=4, unique_by=lambda rule: rule.id).map(tuple),
    profile=st.none() | TEXTS,
    model=st.none() | TEXTS,
)
