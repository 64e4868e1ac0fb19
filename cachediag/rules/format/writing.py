"""Writing a rule file that a person can read, review and commit."""

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields

from cachediag.errors import InputError
from cachediag.model import Json
from cachediag.rules.format.schema import VERSION
from cachediag.rules.format.validity import can_be_written
from cachediag.rules.rule import Evidence, Rule, RuleSet
from cachediag.unseen import escaped

__all__ = ["write_rules"]

_WIDTH = 96
_USE = """\
Read each rule before you use it; enabled = false sets one aside. Then

    cachediag rules check SESSION FILE                 what they save, what speaks against them
    cachediag fix strip --rules FILE --upstream URL    apply them to what a client sends
"""


def write_rules(
    ruleset: RuleSet, notes: Mapping[str, str] | None = None, *, head: str = "", foot: str = ""
) -> str:
    """Write rules as a file.

    Args:
        ruleset: the rules.
        notes: for the ids of rules what to say above each; lines are wrapped, line ends and
            indented lines kept.
        head: what the file was made from, said at its top.
        foot: what else is to be said, such as of findings that no rule answers; said at the end.

    Raises:
        InputError: a text of a rule cannot be written in TOML: it holds half of a character.
    """
    notes = notes or {}
    pieces = [
        *((_comment(head), "#\n") if head else ()),
        _comment(_USE),
        "\n",
        _table({"version": VERSION, "profile": ruleset.profile, "model": ruleset.model}),
    ]
    for rule in ruleset.rules:
        _check(rule)
        pieces += ["\n", _comment(notes.get(rule.id, "")), _table({"rule": [_fields(rule)]})]
    if foot:
        pieces += ["\n", _comment(foot)]
    return _visible("".join(pieces))


def _check(rule: Rule) -> None:
    for each in fields(rule):
        value = getattr(rule, each.name)
        if isinstance(value, str) and not can_be_written(value):
            raise InputError(
                f"the {each.name} of rule {rule.id} holds half of a character (a lone surrogate), "
                "which a rule file cannot say",
                remedy="Name the place by a narrower path, or match the character by a class.",
            )


def _fields(rule: Rule) -> dict[str, Json]:
    """What is to be written of a rule: all but what is as it would be anyway."""
    table: dict[str, Json] = {}
    for each in fields(rule):
        value = getattr(rule, each.name)
        if each.name == "enabled" or value != each.default:
            table[each.name] = value
    if rule.evidence == Evidence():
        del table["evidence"]
    else:
        table["evidence"] = _evidence(rule.evidence)
    return table


def _evidence(evidence: Evidence) -> dict[str, Json]:
    import tomlkit

    seen = tomlkit.array()
    # What was seen is told, not used: half of a character is told as an escape.
    seen.extend(one.encode("utf-8", "backslashreplace").decode() for one in evidence.seen)
    table = {each.name: getattr(evidence, each.name) for each in fields(evidence)}
    return {**table, "seen": seen.multiline(len(evidence.seen) > 1)}


def _table(content: Mapping[str, Json]) -> str:
    import tomlkit

    return tomlkit.dumps(_with_literals(content))


def _with_literals(value: Json) -> Json:
    """Tables whose texts stand between single quotes where that spares escapes."""
    import tomlkit

    if isinstance(value, Mapping):
        given = ((name, each) for name, each in value.items() if each is not None)
        return {name: _with_literals(each) for name, each in given}
    if type(value) is list:
        return [_with_literals(each) for each in value]
    if isinstance(value, str) and _is_better_literal(value):
        return tomlkit.string(value, literal=True)
    return value


def _is_better_literal(text: str) -> bool:
    return escaped(text, _escape) == text and "'" not in text and ("\\" in text or '"' in text)


def _comment(text: str) -> str:
    lines = [line for given in text.rstrip("\n").split("\n") for line in _wrapped(given)]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines) if text.strip() else ""


def _wrapped(line: str) -> Iterator[str]:
    if line[:1].isspace() or not line:
        yield line
    else:
        yield from textwrap.wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _visible(text: str) -> str:
    """The text with escapes for what does not show, or shows in another place than it stands.

    In TOML such a character can only stand in a comment or between double quotes, where the escape
    means the character.
    """
    return "\n".join(escaped(line, _escape) for line in text.split("\n"))


def _escape(one: str) -> str:
    return f"\\u{ord(one):04x}" if ord(one) < 0x10000 else f"\\U{ord(one):08x}"
