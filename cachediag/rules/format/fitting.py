"""From a decoded rule file to its rules, or to the one thing to mend first."""

import re
from collections.abc import Iterable

import msgspec

from cachediag.findings import all_codes
from cachediag.model import Json
from cachediag.rules.format.schema import CHOICES, VERSION, EvidenceTable, FileTable, RuleTable
from cachediag.rules.format.validity import problems
from cachediag.rules.rule import Rule, RuleSet
from cachediag.words import did_you_mean

__all__ = ["Misfit", "fit"]

Path = tuple[str | int, ...]

_AT = re.compile(r" - at `\$([.\[\]\w]*)`\Z")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_TYPES = re.compile(r"Expected `(\w+)[^`]*`, got `(\w+)`")
_BOUND = re.compile(r"length <= (\d+)")
_LONGEST_SHOWN = 40
_FIELDS = {
    "file": FileTable.__struct_fields__,
    "rule": RuleTable.__struct_fields__,
    "evidence": EvidenceTable.__struct_fields__,
}
_EXAMPLES = {
    "id": "strip-billing-header",
    "finding": "V01",
    "action": "replace",
    "protocol": "messages",
    "path": "system[0].text",
}
_KINDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number with a point",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
_MENDS = {
    "str": 'Put it between quotes: {name} = "…".',
    "int": "Write a whole number without quotes: {name} = 1.",
    "bool": "Write it without quotes: {name} = true or {name} = false.",
    "array": 'Write it between brackets: {name} = ["…", "…"].',
    "object": "Write a table: [rule.{name}] with a field a line.",
}


class Misfit(Exception):  # noqa: N818 - it is caught and told as an InputError
    """What does not fit, and where.

    Args:
        path: names and numbers from the top of the file to the field.
        message: what is wrong.
        remedy: what to do.
    """

    def __init__(self, path: Path, message: str, remedy: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.remedy = remedy


def fit(data: dict[str, Json]) -> RuleSet:
    """The rules that a decoded file says.

    Raises:
        Misfit: it is no rule file, or a rule in it cannot be.
    """
    _check_version(data)
    if not data.keys() <= set(_FIELDS["file"]):
        raise _unknown((), data)
    try:
        ruleset = msgspec.convert(data, FileTable).ruleset()
    except msgspec.ValidationError as error:
        raise _misfit(data, str(error)) from None
    _check_ids(ruleset.rules)
    for number, rule in enumerate(ruleset.rules):
        for problem in problems(rule):
            path: Path = ("rule", number, problem.field)
            raise Misfit(path, f"rule {rule.id}: {problem.message}", problem.remedy)
    return ruleset


def _check_version(data: dict[str, Json]) -> None:
    version = data.get("version")
    if version is None:
        raise Misfit(
            (), "not a rule file: it has no version", f"Begin it with: version = {VERSION}"
        )
    if type(version) is not int or version < 1:
        raise Misfit(
            ("version",), f"version must be {VERSION}", f"Begin the file with: version = {VERSION}"
        )
    if version > VERSION:
        raise Misfit(
            ("version",),
            f"its version is {_shown(version)}, and this cachediag reads {VERSION}",
            "Use a newer cachediag: pip install --upgrade cachediag",
        )


def _check_ids(rules: Iterable[Rule]) -> None:
    first: dict[str, int] = {}
    for number, rule in enumerate(rules):
        path: Path = ("rule", number, "id")
        if rule.id.endswith("\n"):
            # What Python's $ lets through.
            raise _wrong_value(path, rule.id, "")
        if first.setdefault(rule.id, number) != number:
            raise Misfit(
                path,
                f"rule {rule.id}: an earlier rule has the same id",
                "Give each rule an id of its own.",
            )


def _misfit(data: dict[str, Json], said: str) -> Misfit:
    """What msgspec found, told to someone who writes TOML."""
    at = _AT.search(said)
    steps = _STEP.finditer(at[1]) if at else ()
    path: Path = tuple(step[1] or int(step[2]) for step in steps)
    what, value = said[: at.start()] if at else said, _value(data, path)
    types = _TYPES.match(what)
    if not path:
        # Nothing that is at the top can be wrong any more, unless msgspec has other words for it.
        return Misfit((), said, "Write a field a line as name = value, as in docs/rules.md.")
    if what.startswith("Object contains unknown field"):
        misfit = _unknown(path, value)
    elif what.startswith("Object missing required field"):
        misfit = _missing(path, what.split("`")[1])
    elif types:
        misfit = _wrong_type(path, types[1], types[2])
    else:
        misfit = _wrong_value(path, value, what)
    return Misfit(misfit.path, _named(data, path) + misfit.message, misfit.remedy)


def _value(data: Json, path: Path) -> Json:
    for step in path:
        data = data[step]
    return data


def _named(data: Json, path: Path) -> str:
    """How a message about a rule begins."""
    table = _value(data, path[:2])
    is_named = len(path) >= 2 and path[-1] != "id" and isinstance(table, dict)
    name = table.get("id") if is_named else None
    return f"rule {_cut(name)}: " if isinstance(name, str) else ""


def _unknown(path: Path, value: Json) -> Misfit:
    known = _FIELDS["evidence" if len(path) > 2 else "rule" if path else "file"]
    name = next(name for name in value if name not in known)
    mend = did_you_mean(name, known).rstrip() or f"The fields are {', '.join(known)}."
    return Misfit((*path, name), f"unknown field {_shown(name)}", mend)


def _missing(path: Path, name: str) -> Misfit:
    return Misfit(path, f"{name} is missing", f'Add {name} = "{_EXAMPLES[name]}".')


def _wrong_type(path: Path, expected: str, got: str) -> Misfit:
    if path[0] == "rule" and len(path) < 3:
        return Misfit(path, "a rule must be a table", "Begin each with a line [[rule]].")
    name = next(step for step in reversed(path) if isinstance(step, str))
    what = f"{name}[{path[-1]}]" if isinstance(path[-1], int) else name
    message = f"{what} must be {_KINDS.get(expected, expected)}, not {_KINDS.get(got, f'a {got}')}"
    return Misfit(path, message, _MENDS.get(expected, _MENDS["str"]).format(name=what))


def _wrong_value(path: Path, value: Json, what: str) -> Misfit:
    name = str(path[-1])
    if name in CHOICES:
        known = CHOICES[name]
        mend = f"{did_you_mean(value, known)}Write one of {', '.join(known)}."
        return Misfit(path, f"unknown {name} {_shown(value)}", mend)
    if name == "id":
        mend = "Write small letters and digits, with hyphens between: strip-billing-header."
        return Misfit(path, f"{_shown(value)} is no id", mend)
    if name == "finding":
        mend = f"{did_you_mean(value, all_codes())}List them all: cachediag explain"
        return Misfit(path, f"no finding has the code {_shown(value)}", mend)
    bound = _BOUND.search(what)
    if bound:
        return Misfit(path, f"{name} is longer than {bound[1]} characters", "Write a shorter one.")
    return Misfit(path, f"{name} cannot be {_shown(value)}", "Write a number from 0 on.")


def _shown(value: Json) -> str:
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
