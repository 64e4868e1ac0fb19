"""What a backend's release does of its own, so that a rule or a switch would be of no use there.

The facts are in `cures.toml`, dated and with their sources. A newcomer adds a row.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files

from cachediag.model import Endpoint, Json

__all__ = ["Cure", "cures", "cures_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cure:
    """One thing that releases of a backend do."""

    backend: str
    """The profile's name."""
    codes: tuple[str, ...] = ()
    """The findings that are removed by it; none where it is about the prefix cache."""
    endpoints: tuple[Endpoint, ...]
    since: str | None = None
    """The first release that does it; None where all that are known do."""
    until: str | None = None
    """The first release that does not any more."""
    does: str
    """What, as a predicate: `deletes …`."""
    limit: str | None = None
    """Where it falls short, in a sentence."""
    whole: bool = True
    """Nothing of the cause is left, so a rule for it would change nothing."""
    how: str
    """How this was found out."""
    source: str
    checked: date

    @property
    def is_cache(self) -> bool:
        """It tells of the prefix cache, not of a cause."""
        return not self.codes


@cache
def cures() -> tuple[Cure, ...]:
    """Every row of the table."""
    text = files(__package__).joinpath("cures.toml").read_text(encoding="utf-8")
    return tuple(_cure(row) for row in tomllib.loads(text)["cures"])


def _cure(row: Mapping[str, Json]) -> Cure:
    made: dict[str, Json] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row.items()
    }
    return Cure(**made)


def cures_of(profile_name: str, endpoint: Endpoint | None = None) -> tuple[Cure, ...]:
    """What a backend does of its own.

    Args:
        profile_name: as the profile tells it, such as `vllm-mlx@0.6.0`; without a release the
            newest is meant.
        endpoint: what its requests call; by default any.
    """
    name, _, rest = profile_name.partition("@")
    release = _release(rest.partition(":")[0]) if rest else None
    return tuple(
        cure
        for cure in cures()
        if cure.backend == name
        and (endpoint is None or endpoint in cure.endpoints)
        and _holds(cure, release)
    )


def _holds(cure: Cure, release: tuple[int, ...] | None) -> bool:
    if release is None:
        return cure.until is None
    is_after = cure.since is None or release >= _release(cure.since)
    return is_after and (cure.until is None or release < _release(cure.until))


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
