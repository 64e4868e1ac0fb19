"""What a session says of the backend that it was recorded from."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cachediag.analysis.engines import ENGINES
from cachediag.backends.kinds import Recognised
from cachediag.model import Endpoint
from cachediag.render.profiles import PROFILES

__all__ = ["Recorded", "from_meta", "to_meta"]

# A sandbox may keep the billing header that a release removes.
_VERSION = re.compile(r"\d+\.\d+\.\d+(:strip=off)?")


@dataclass(frozen=True, slots=True)
class Recorded:
    """The backend that a session was recorded from."""

    name: str
    """What is said of it: kind, version and variant."""
    profile: str
    """For `--profile`."""
    engine: str | None
    """For `--engine`; None for the profile's own."""


def to_meta(recognised: Recognised, endpoints: Iterable[Endpoint]) -> dict[str, str]:
    """What a session's meta is to say.

    Args:
        recognised: the backend.
        endpoints: which requests go to it; others go elsewhere.
    """
    told = {
        "backend": str(recognised),
        "backend_version": recognised.version,
        "backend_endpoints": " ".join(endpoints),
        "profile": recognised.profile,
        "engine": recognised.engine,
    }
    return {name: value for name, value in told.items() if value is not None}


def from_meta(meta: Mapping[str, str], endpoint: Endpoint) -> Recorded | None:
    """What a session's meta says of the backend that an endpoint led to.

    Args:
        meta: the session's; its profile and its cache need not be known here.
        endpoint: what the session's requests call.

    Returns:
        None where it says nothing, or nothing that is known here.
    """
    name, profile = meta.get("backend"), meta.get("profile", "")
    if not name or endpoint not in meta.get("backend_endpoints", "").split():
        return None
    kind, at, version = profile.partition("@")
    if kind not in PROFILES or (at and (kind != "vllm-mlx" or not _VERSION.fullmatch(version))):
        return None
    engine = meta.get("engine")
    return Recorded(name, profile, engine if engine in ENGINES else None)
