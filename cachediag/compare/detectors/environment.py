"""V05: a snapshot of the environment: git status, directory, platform."""

import re
from collections.abc import Sequence

__all__ = ["CODE", "in_snapshot"]

CODE = "V05"

_OWN_LINE = re.compile(
    r"^[ \t>*-]*(?:(?:primary |additional |current )?working director(?:y|ies)"
    r"|is (?:directory )?a git repo(?:sitory)?|platform|os version|shell|hostname"
    r"|current branch|main branch|git user|git ?status|recent commits)(?: \([^)]*\))?\s*:"
    r"|^[ \t]*(?:[MADRCU?!]{1,2}|\?\?) \S+$"
    r"|^[ \t]*[0-9a-f]{7,12} \S",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"git ?status\b|^status:|recent commits:|<env>|current branch:|environment (?:info|snapshot)"
    r"|untracked files:|changes (?:not )?staged",
    re.IGNORECASE,
)
_END = re.compile(r"^#{1,6} |^</?(?!env>)[\w-]+>$|^</env>")
_FURTHEST = 60


def in_snapshot(lines: Sequence[str], index: int) -> bool:
    """Whether a line stands in a snapshot of the environment.

    Args:
        lines: the text's lines.
        index: the line in question; one past the end asks for what follows the last line.
    """
    if index < len(lines) and _OWN_LINE.match(lines[index]):
        return True
    for above in reversed(lines[max(0, index - _FURTHEST) : index]):
        if _END.match(above):
            return False
        if _HEADING.search(above):
            return True
    return False
