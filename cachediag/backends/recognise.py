"""Recognising the backend behind an address, by asking it harmlessly."""

import time
from typing import Final
from urllib.parse import urlsplit

from cachediag.backends.asking import get_all, is_near
from cachediag.backends.kinds import PROBES, Recognised, Responses

__all__ = ["from_responses", "recognise"]

_EVERYWHERE: Final = ("/v1/models", "/health")
_HOSTED = {
    "api.anthropic.com": Recognised(
        kind="anthropic", sure="exact", evidence="its address", profile="anthropic"
    ),
    "api.openai.com": Recognised(
        kind="openai", sure="exact", evidence="its address", profile="generic", engine="openai"
    ),
}


def recognise(base_url: str, *, timeout: float = 2.0, within: float = 6.0) -> Recognised | None:
    """Recognise the backend behind an address.

    A backend on this machine or in a private network is asked, with GET only and without
    credentials: first for its models and its health, then for what tells its version, and for
    everything else only where these do not say. Any other is told by its address alone.

    Args:
        base_url: the server's, without a path of the API.
        timeout: seconds for each question.
        within: seconds for all of them.

    Returns:
        None where it is not recognised, or does not answer.
    """
    host = _host(base_url)
    if host in _HOSTED:
        return _HOSTED[host]
    if not is_near(base_url):
        return None
    deadline = time.monotonic() + within
    answers = get_all(base_url, _EVERYWHERE, timeout=timeout, deadline=deadline)
    if not answers:
        return None
    found = from_responses(answers)
    known = found is not None and found.sure == "exact"
    paths = PROBES[found.kind].paths if found is not None and known else _all_paths()
    further = [path for path in paths if path not in answers]
    answers |= get_all(base_url, further, timeout=timeout, deadline=deadline)
    return from_responses(answers)


def from_responses(responses: Responses) -> Recognised | None:
    """Recognise a backend by what it answered.

    Args:
        responses: by path.

    Returns:
        The first that is sure, or else the first that is likely; None where there is neither.
    """
    found = [probe.recognise(responses) for probe in PROBES.values()]
    recognised = [each for each in found if each is not None]
    sure = [each for each in recognised if each.sure == "exact"]
    return next(iter([*sure, *recognised]), None)


def _host(base_url: str) -> str:
    try:
        return urlsplit(base_url).hostname or ""
    except ValueError:
        return ""


def _all_paths() -> list[str]:
    return list(dict.fromkeys(path for probe in PROBES.values() for path in probe.paths))
