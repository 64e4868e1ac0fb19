"""What a rule file may hold: the one definition that reading and the JSON Schema come from."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from cachediag.model import Json
from cachediag.rules.rule import ACTIONS, PROTOCOLS, SORT_BY, Evidence, Rule, RuleSet

__all__ = [
    "CHOICES",
    "FLAGS",
    "NEEDS",
    "TAKERS",
    "VERSION",
    "FileTable",
    "RuleTable",
    "json_schema",
]

VERSION: Final = 1
"""The version of the format. Raised when an older reader would read something wrong."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "action": ACTIONS,
    "protocol": PROTOCOLS,
    "by": SORT_BY,
}
"""The words that a field may have."""

NEEDS: Mapping[str, tuple[str, ...]] = {
    "drop-block": ("pattern",),
    "replace": ("pattern", "value"),
    "sort": ("by",),
    "pin": ("pattern",),
}
"""The fields without which an action cannot be done."""

TAKERS: Mapping[str, tuple[str, ...]] = {
    "pattern": ("drop-block", "replace", "sort", "move-to-end", "pin"),
    "value": ("replace",),
    "by": ("sort",),
    "arguments": ("sort",),
}
"""The actions to which a field means something; what is not here means something to all."""

FLAGS = ("enabled", "messages", "arguments")
"""The fields that are true or false."""


class EvidenceTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a rule was made from. Plays no part in applying it."""

    requests: Annotated[
        int, Meta(ge=0, description="Requests of the session that showed the finding.")
    ] = 0
    tokens_saved: Annotated[
        int, Meta(ge=0, description="Tokens that need not be prefilled again.")
    ] = 0
    exact: Annotated[
        bool, Meta(description="Counted by the model's own tokenizer and template.")
    ] = False
    seen: Annotated[tuple[str, ...], Meta(description="A few of the values.")] = ()


class RuleTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule: one change, where it applies, and why it is there."""

    id: Annotated[
        str,
        Meta(
            pattern="^[a-z0-9]+(-[a-z0-9]+)*$",
            max_length=80,
            description="What it is called: small letters and digits, with hyphens between.",
        ),
    ]
    finding: Annotated[
        str,
        Meta(
            pattern="^[VOSEMPGN][0-9]{2}$",
            description="The code of the finding that it answers, such as V01.",
        ),
    ]
    action: Annotated[
        Literal["drop-block", "replace", "sort", "move-to-end", "pin", "keep-inline"],
        Meta(
            description="What is done at the path: take the block out (drop-block), put a constant "
            "there (replace), bring into one order (sort), take behind the prefix (move-to-end), "
            "keep the first value (pin), leave a system message where it is (keep-inline)."
        ),
    ]
    protocol: Annotated[
        Literal["messages", "chat", "responses"],
        Meta(
            description="The requests that it applies to: /v1/messages, /v1/chat/completions or "
            "/v1/responses."
        ),
    ]
    path: Annotated[
        str,
        Meta(
            max_length=1024,
            description="Where in the body, such as system[0].text, tools[name=Bash].description "
            "or messages[*].",
        ),
    ]
    pattern: (
        Annotated[
            str,
            Meta(
                max_length=4096,
                description="What the text at the path must match, anchored. A group marks the "
                "piece that is changed.",
            ),
        ]
        | UnsetType
    ) = UNSET
    value: Annotated[str, Meta(description="What replace puts there.")] | UnsetType = UNSET
    by: (
        Annotated[
            Literal["name", "keys", "lines", "items"], Meta(description="What sort sorts by.")
        ]
        | UnsetType
    ) = UNSET
    enabled: Annotated[bool, Meta(description="Whether it is applied.")] = True
    messages: Annotated[
        bool,
        Meta(
            description="Whether it may change what a client wrote around the user's words in a "
            "user message."
        ),
    ] = False
    arguments: Annotated[
        bool,
        Meta(description="Whether sort may change the arguments that the model generated."),
    ] = False
    evidence: Annotated[
        EvidenceTable, Meta(description="What it was made from. Plays no part in applying it.")
    ] = msgspec.field(default_factory=EvidenceTable)

    def rule(self) -> Rule:
        """The rule that it says."""
        fields = _given(self)
        fields["evidence"] = Evidence(**_given(self.evidence))
        return Rule(**fields)


class FileTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of rules that change what a client sends."""

    version: Annotated[Literal[1], Meta(description="The version of the format.")]
    profile: (
        Annotated[str, Meta(description="The profile that the rules were made for.")] | UnsetType
    ) = UNSET
    model: (
        Annotated[str, Meta(description="The model whose tokens were counted, as for --model.")]
        | UnsetType
    ) = UNSET
    rule: Annotated[tuple[RuleTable, ...], Meta(description="The rules.")] = ()

    def ruleset(self) -> RuleSet:
        """The rules that it says."""
        fields = _given(self)
        rules = tuple(each.rule() for each in self.rule)
        return RuleSet(rules, fields.get("profile"), fields.get("model"))


def _given(table: msgspec.Struct) -> dict[str, Any]:
    fields = {name: getattr(table, name) for name in table.__struct_fields__}
    return {name: value for name, value in fields.items() if value is not UNSET}


def json_schema() -> Json:
    """The JSON Schema of a rule file, for editors."""
    schema = msgspec.json.schema(FileTable)
    for definition in schema["$defs"].values():
        # They are the names of classes here.
        del definition["title"]
    schema["$defs"]["RuleTable"]["allOf"] = [*_needed(), *_refused()]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:cachediag:rules:{VERSION}",
        "title": "cachediag rules",
        **schema,
    }


def _needed() -> Iterator[Json]:
    for action, names in NEEDS.items():
        yield _where((action,), {"required": list(names)})


def _refused() -> Iterator[Json]:
    for name, takers in TAKERS.items():
        others = tuple(action for action in ACTIONS if action not in takers)
        yield _where(others, {"properties": {name: {"const": False} if name in FLAGS else False}})


def _where(actions: tuple[str, ...], then: Json) -> Json:
    condition = {"properties": {"action": {"enum": list(actions)}}, "required": ["action"]}
    return {"if": condition, "then": then}
