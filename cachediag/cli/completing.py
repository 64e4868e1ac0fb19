"""What a shell completes arguments with.

Shells put a completion into the command line as it is, and some read it once more on the way there.
So only names are given that mean nothing but themselves to every shell; the others must be typed.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from cachediag.errors import CachediagError

__all__ = [
    "codes",
    "engines",
    "exporters",
    "policies",
    "profiles",
    "sessions",
    "sessions_and_rules",
    "tokenizers",
    "workloads",
]

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]*")


def _fitting(names: Iterable[str], incomplete: str) -> Iterator[str]:
    return (name for name in names if name.startswith(incomplete) and _PLAIN.fullmatch(name))


def sessions(incomplete: str) -> list[str]:
    """The names of recorded sessions, the newest first."""
    from cachediag.session import library

    with suppress(CachediagError, OSError):
        names = [path.stem for path in library.recorded()]
        return list(_fitting(names, incomplete))
    return []


def sessions_and_rules(incomplete: str) -> list[str]:
    """The same, and before them the rule files of the current directory."""
    with suppress(OSError):
        files = sorted(path.name for path in Path.cwd().glob("*.toml"))
        return [*_fitting(files, incomplete), *sessions(incomplete)]
    return []


def codes(incomplete: str) -> list[str]:
    """The codes of findings."""
    from cachediag import findings

    return list(_fitting(findings.all_codes(), incomplete))


def profiles(incomplete: str) -> list[str]:
    """The names of backends."""
    from cachediag.render.profiles import PROFILES

    return list(_fitting(PROFILES, incomplete))


def tokenizers(incomplete: str) -> list[str]:
    """The names of tokenizers."""
    from cachediag.tokens.tokenizers import TOKENIZERS

    return list(_fitting(TOKENIZERS, incomplete))


def engines(incomplete: str) -> list[str]:
    """The names of cache models."""
    from cachediag.analysis.engines import ENGINES

    return list(_fitting(ENGINES, incomplete))


def policies(incomplete: str) -> list[str]:
    """The names of routing policies."""
    from cachediag.simulate.policies import POLICIES

    return list(_fitting(POLICIES, incomplete))


def workloads(incomplete: str) -> list[str]:
    """The scenarios that come along, and recorded sessions."""
    from cachediag.simulate.scenario import shipped

    return [*_fitting(shipped(), incomplete), *sessions(incomplete)]


def exporters(incomplete: str) -> list[str]:
    """What rules can be exported to."""
    from cachediag.rules.exports import EXPORTERS

    return list(_fitting(EXPORTERS, incomplete))
