"""What the time to the first token tells, where a backend tells nothing else."""

from cachediag.backends.kinds import Reading

__all__ = ["from_times"]

_ALIKE = 0.8
"""A replay that takes this part of the time is not told from one that found nothing."""


def from_times(cold: float, replay: float, prompt: int | None = None) -> Reading:
    """Estimate how much of a prompt was cached when it was sent again, all the same.

    Prefilling takes time in proportion to the tokens, but for a constant part that is taken to be
    small: a lower bound.

    Args:
        cold: seconds to the first token where nothing was cached.
        replay: seconds to the first token of the identical request.
        prompt: tokens of the prompt, where they are known.

    Returns:
        An estimate. Without `prompt`, and where something was cached, it says only that: `cached`
        is None.
    """
    source = "time to first token of an identical replay"
    part = replay / cold if cold > 0 else 1.0
    if part >= _ALIKE:
        return Reading(cached=0, prefilled=prompt, sure="estimate", source=source)
    if prompt is None:
        return Reading(sure="estimate", source=source)
    prefilled = min(prompt, round(prompt * part))
    return Reading(cached=prompt - prefilled, prefilled=prefilled, sure="estimate", source=source)
