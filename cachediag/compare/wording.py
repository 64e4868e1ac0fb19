"""The sentence that a finding says, and what removes it, by code."""

from cachediag.model import Severity

__all__ = ["fix_of", "message_of", "severity_of"]

_MESSAGES = {
    "V01": "The billing header changes between requests, and means nothing to the model.",
    "V02": "A date or time in the prompt has moved on.",
    "V03": "A random identifier in the prompt is new.",
    "V04": "A number in the prompt has changed.",
    "V05": "The snapshot of the environment was taken anew.",
    "V06": "A text that is otherwise stable has changed.",
    "O01": "The same tools come in another order.",
    "O02": "The keys of an object come in another order.",
    "O03": "The same lines or items come in another order.",
    "S01": "Tools were added or removed.",
    "S02": "The definition of a tool has changed.",
    "S03": "A system block was added or removed.",
    "S04": "An earlier message was edited.",
    "S05": "The history was compacted or cut.",
    "S06": "A block appeared in or vanished from an earlier message.",
    "S07": "The backend moves this inline system message to the front of the prompt.",
    "S08": "An image or document in an earlier message was replaced.",
    "S09": "Thinking of an earlier turn was dropped or changed.",
    "S10": "A parameter that keys the cache has changed.",
    "E01": "Only white space differs.",
    "E02": "The same characters are spelled in another way.",
    "E03": "The same text comes once as a string, once as a text block.",
    "E04": "The same number is spelled in another way.",
    "E05": "The text comes back as it was, its tokens are cut elsewhere.",
    "S11": "The model's own reply comes back changed.",
    "M01": "The cache marker has moved.",
    "M06": "The cache marker stands on a block that changes, so what it writes is not read.",
    "N01": "New blocks were appended.",
    "N02": "Only fields outside the prompt differ.",
    "N03": "The first request of its conversation.",
}
_FIXES = {
    "V01": "CLAUDE_CODE_ATTRIBUTION_HEADER=0",
}


def message_of(code: str, note: str = "") -> str:
    """The sentence for a code, with what this pair adds to it."""
    return f"{_MESSAGES[code][:-1]}: {note}." if note else _MESSAGES[code]


def fix_of(code: str) -> str | None:
    """A client switch that removes the cause; None where there is none."""
    return _FIXES.get(code)


def severity_of(code: str) -> Severity:
    """What a finding of this code costs where it shows between two prompts."""
    if code[0] == "N" or code in ("M01", "E03"):
        return "info"
    return "cost" if code == "M06" else "break"
