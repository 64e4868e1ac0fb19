"""What must be true of a rule beyond the types of its fields."""

from collections.abc import Iterator
from dataclasses import dataclass

from cachediag.findings import all_codes
from cachediag.rules.engine.places import PathError, steps
from cachediag.rules.format.schema import FLAGS, NEEDS, TAKERS
from cachediag.rules.pattern import PatternError, check
from cachediag.rules.rule import Rule
from cachediag.words import did_you_mean

__all__ = ["Problem", "can_be_written", "problems"]

_ROOTS = {
    "messages": ("system", "tools", "messages"),
    "chat": ("tools", "functions", "messages"),
    "responses": ("instructions", "tools", "input"),
}
_TALK = ("messages", "input")
_WHOLE = ("name", "keys")
_TEXT_OF = {"system": "text", "tools": "description", "functions": "description"}
_EXAMPLES = {
    "pattern": r"pattern = '\AToday is (\d{4}-\d\d-\d\d)\.'",
    "value": 'value = "0000"',
    "by": 'by = "name", "keys", "lines" or "items"',
}


@dataclass(frozen=True)
class Problem:
    """What is wrong with a rule."""

    field: str
    """The field concerned, which the rule may lack."""
    message: str
    remedy: str


def can_be_written(text: str) -> bool:
    """Whether a rule file can hold a text: TOML has no lone surrogates, halves of characters."""
    return not any("\ud800" <= one <= "\udfff" for one in text)


def problems(rule: Rule) -> Iterator[Problem]:
    """What speaks against a rule by itself."""
    if rule.finding not in all_codes():
        known = did_you_mean(rule.finding, all_codes())
        message = f"no finding has the code {rule.finding!r}"
        yield Problem("finding", message, f"{known}List them all: cachediag explain")
    yield from _needs(rule)
    yield from _path(rule)
    yield from _pattern(rule)


def _needs(rule: Rule) -> Iterator[Problem]:
    for name in NEEDS.get(rule.action, ()):
        if getattr(rule, name) is None:
            yield Problem(name, f"{rule.action} needs {name}", f"Add {_EXAMPLES[name]}.")
    for name, takers in TAKERS.items():
        if rule.action not in takers and getattr(rule, name) not in (None, False):
            known = " and ".join(takers)
            mend = "Set it to false" if name in FLAGS else "Take it out"
            message = f"{rule.action} has no use for {name}"
            yield Problem(name, message, f"{mend}; it belongs to {known}.")
    if rule.action == "sort" and rule.by in _WHOLE and rule.pattern is not None:
        message = f"sort by {rule.by} has no use for pattern"
        yield Problem("pattern", message, "Take it out; it belongs to sort by lines and items.")


def _path(rule: Rule) -> Iterator[Problem]:
    try:
        found = steps(rule.path)
    except PathError as error:
        message, _, mend = str(error).rpartition("; ")
        yield Problem("path", message, f"{mend[:1].upper()}{mend[1:]}.")
        return
    root, roots = str(found[0]), _ROOTS[rule.protocol]
    if root not in roots:
        message = f"the path {rule.path!r} leads to nothing that a prompt of {rule.protocol} is"
        mend = f"{did_you_mean(root, roots)}It begins with {', '.join(roots[:-1])} or {roots[-1]}."
        yield Problem("path", message, mend)
        return
    talk = roots[-1]
    if rule.action == "keep-inline":
        if rule.path != f"{talk}[*]":
            message = f"keep-inline looks at whole messages, not at {rule.path!r}"
            yield Problem("path", message, f'Write path = "{talk}[*]".')
    elif rule.action == "drop-block":
        if len(found) > 1 and isinstance(found[-1], str):
            message = f"drop-block takes out a whole block, and {rule.path!r} is a field of one"
            block = rule.path.removesuffix(f".{found[-1]}")
            yield Problem("path", message, f'Write path = "{block}".')
    elif rule.by not in _WHOLE and rule.pattern is not None:
        yield from _names_a_text(rule, root, is_item=not isinstance(found[-1], str))
    if rule.action == "sort" and rule.by == "keys" and root in _TALK and not rule.arguments:
        message = "these are arguments that the model generated"
        mend = "Set arguments = true, if the engine keeps nothing of what it generated."
        yield Problem("arguments", message, mend)


def _names_a_text(rule: Rule, root: str, *, is_item: bool) -> Iterator[Problem]:
    # A whole block can be moved.
    if is_item and root in _TEXT_OF and not (rule.action == "move-to-end" and root == "system"):
        message = f"{rule.action} changes a text, and {rule.path!r} is a whole block"
        yield Problem("path", message, f'Write path = "{rule.path}.{_TEXT_OF[root]}".')


def _pattern(rule: Rule) -> Iterator[Problem]:
    if rule.pattern is None:
        return
    try:
        check(rule.pattern)
    except PatternError as error:
        yield Problem("pattern", str(error), f"For example: {_EXAMPLES['pattern']}")
        return
    if rule.action == "drop-block" and not rule.pattern.startswith(r"\A"):
        message = "drop-block looks at whole texts, and the pattern begins at any line"
        yield Problem("pattern", message, r"Begin it with \A, and end it with \z.")
