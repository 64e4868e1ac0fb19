"""What a session is counted and played by: what was named, or else what its backend has."""

from cachediag.analysis.choice import Choice, choose
from cachediag.analysis.counting import Counting, counting
from cachediag.backends.recorded import Recorded, from_meta
from cachediag.model import PROMPT_ENDPOINTS, Endpoint
from cachediag.session import Outgoing, Session
from cachediag.session.source import Source

__all__ = ["asked", "choice_for", "chosen", "counting_for", "recorded"]


def asked(opened: Source) -> Endpoint:
    """What the first request to a model calls."""
    endpoints = (info.endpoint for info in opened.infos())
    return next((each for each in endpoints if each in PROMPT_ENDPOINTS), "messages")


def recorded(opened: Source, profile: str | None) -> Recorded | None:
    """The backend that a session was recorded from, where it counts: no other profile is named."""
    session = opened.source if isinstance(opened, Outgoing) else opened
    if profile is not None or not isinstance(session, Session):
        return None
    return from_meta(session.meta, asked(opened))


def chosen(
    opened: Source, profile: str | None, engine: str | None = None
) -> tuple[str | None, str | None]:
    """The profile and the cache that count: those that were named, or else the backend's own."""
    known = recorded(opened, profile)
    return (profile, engine) if known is None else (known.profile, engine or known.engine)


def choice_for(
    opened: Source,
    profile: str | None,
    model: str | None,
    *,
    engine: str | None = None,
    tokenizer: str | None = None,
) -> Choice:
    """What a session is analysed by; see `choose`, and `chosen` for what is not named.

    Args:
        opened: the session.
        profile: as on the command line, like the others; None where it is not named.
        model: picks tokenizer and chat template together.
        engine: the cache model.
        tokenizer: another one than the model's.

    Raises:
        CachediagError: one that is named is not known, or its files cannot be read.
    """
    profile_spec, engine_spec = chosen(opened, profile, engine)
    return choose(
        asked(opened),
        profile_spec=profile_spec,
        model_spec=model,
        tokenizer_spec=tokenizer,
        engine_spec=engine_spec,
    )


def counting_for(opened: Source, profile: str | None, model: str | None) -> Counting:
    """What the tokens of a session are counted by; the arguments are those of `choice_for`."""
    return counting(asked(opened), chosen(opened, profile)[0], model)
