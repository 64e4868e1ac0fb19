"""System messages inside a conversation stay where the client put them, if the template lets them.

From 0.5.0 on upstream moves all of them to the front, for templates that refuse them anywhere else.
With each new one the prompt then differs almost from its beginning, and nothing can be reused.
"""

import importlib
from collections.abc import Callable
from typing import Any

__all__ = ["keep_in_place"]

_MODULE, _FUNCTION = "vllm_mlx.api.anthropic_adapter", "_merge_system_messages"


def keep_in_place(is_wanted: Callable[[], bool]) -> None:
    """Stand in for the function that moves them, where a release has it.

    Args:
        is_wanted: whether the template of the model that is served takes them anywhere.
    """
    module = importlib.import_module(_MODULE)
    original = getattr(module, _FUNCTION, None)
    if original is None or hasattr(original, "cachediag_original"):
        return

    def merge(messages: list[Any]) -> list[Any]:
        if not is_wanted():
            whole: list[Any] = original(messages)
            return whole
        lead = 0
        while lead < len(messages) and messages[lead].role == "system":
            lead += 1
        merged: list[Any] = original(messages[:lead])
        for message in messages[lead:]:
            # One alone is only made a plain text.
            merged += original([message]) if message.role == "system" else [message]
        return merged

    merge.cachediag_original = original  # type: ignore[attr-defined]
    setattr(module, _FUNCTION, merge)
