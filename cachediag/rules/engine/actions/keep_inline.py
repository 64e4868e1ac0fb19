"""`keep-inline`: a system message behind others stays where it is, said by the user."""

from collections.abc import Iterator

from cachediag.protocol import jsontext
from cachediag.rules.engine.edits import Edit
from cachediag.rules.engine.guard import role_at
from cachediag.rules.engine.made import Made, Sent
from cachediag.rules.engine.places import Place, member
from cachediag.rules.rule import Rule

__all__ = ["keep_inline"]


def keep_inline(sent: Sent, _rule: Rule, place: Place) -> Iterator[Made]:
    """Give a system message the role user, unless only system messages stand before it."""
    role = member(sent.body, place, "role")
    if role is None or role_at(sent.body, place) != "system" or not _is_behind(sent.body, place):
        return
    start, end = role.span
    yield Made((Edit(start, end, (b'"user"',)),), "system", "user", end - start)


def _is_behind(body: bytes, place: Place) -> bool:
    """Whether a message of another role stands before."""
    assert place.parent is not None
    for index, span in enumerate(jsontext.items(body, place.parent.span)):
        if index == place.index:
            return False
        if role_at(body, Place("", span, place.parent, index)) != "system":
            return True
    return False
