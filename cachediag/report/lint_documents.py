"""`cachediag.lint/1`: a session's schemas, judged; `docs/json.md` describes it."""

from cachediag.lint.linted import Linted
from cachediag.model import Json

__all__ = ["linted"]


def linted(made: Linted, *, session: str) -> dict[str, Json]:
    """The document of one session.

    Args:
        made: what was said of its schemas.
        session: its name.
    """
    return {
        "schema": "cachediag.lint/1",
        "session": session,
        "decoders": list(made.decoders),
    }
