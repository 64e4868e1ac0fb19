"""`keep-inline`: a system message behind others stays where it is, said by the user."""

from collections.abc import Iterator

from cachediag.rules.engine.edits import Edit
from cachediag.rules.engine.guard import messages_before, role_at
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
    talk = place.parent
    if talk is None or place.index is None:
        return False
    return place.index > messages_before(body, talk, "system", other=True)
