"""Short pieces of two texts around what changed."""

from cachediag.model import Excerpt

__all__ = ["excerpts"]

_BEFORE = 28
_CHANGED = 48
_AFTER = 16


def excerpts(
    before: str, after: str, a: tuple[int, int], b: tuple[int, int]
) -> tuple[Excerpt, Excerpt]:
    """The two sides of a change, each one line, the changed part marked.

    Args:
        before: the earlier text.
        after: the later text.
        a: what changed in `before`, as offsets.
        b: what it became in `after`.
    """
    return _excerpt(before, *a), _excerpt(after, *b)


def _excerpt(text: str, start: int, end: int) -> Excerpt:
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    left = max(line_start, start - _BEFORE)
    right = min(line_end, end + _AFTER)
    changed = text[start:end]
    if len(changed) > _CHANGED:
        changed = changed[: _CHANGED - 1] + "…"
        right = min(right, end)
    head = ("…" if left > line_start else "") + text[left:start]
    tail = text[end:right] + ("…" if right < line_end and not changed.endswith("…") else "")
    return Excerpt(head + changed + tail, len(head), len(head) + len(changed))
