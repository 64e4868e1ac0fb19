"""G08: two tools of one request that have one name, or nearly."""

from collections.abc import Iterable, Iterator

from cachediag.lint.checks.subject import finding
from cachediag.lint.schemas import Asked
from cachediag.model import Finding

__all__ = ["check"]


def check(requests: Iterable[Asked]) -> Iterator[tuple[int, Finding]]:
    """Find each pair once, with the first request that holds it."""
    told: set[tuple[str, str]] = set()
    looked: set[tuple[tuple[str, str], ...]] = set()
    for asked in requests:
        if asked.names in looked:
            continue
        looked.add(asked.names)
        seen: dict[str, tuple[str, str]] = {}
        for path, name in asked.names:
            earlier = seen.setdefault(_folded(name), (path, name))
            if earlier[0] == path or (earlier[1], name) in told:
                continue
            told.add((earlier[1], name))
            yield asked.request, _pair(path, name, *earlier)


def _folded(name: str) -> str:
    return "".join(one for one in name.casefold() if one.isalnum())


def _pair(path: str, name: str, earlier: str, other: str) -> Finding:
    if name == other:
        what = f"Has the name of {earlier}: hosted APIs refuse the request, local servers call"
        return finding("G08", path, f"{what} one of the two and print both.", shown=name)
    return finding(
        "G08",
        path,
        f"Differs from the name of {earlier} in case or punctuation alone, so that the model may"
        " call the one for the other.",
        shown=f"{other}, {name}",
        severity="info",
        confidence="suspected",
    )
