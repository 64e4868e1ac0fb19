"""The table of actions: one file each."""

from collections.abc import Callable, Iterator

from cachediag.rules.engine.actions.drop_block import drop_block
from cachediag.rules.engine.actions.keep_inline import keep_inline
from cachediag.rules.engine.actions.move_to_end import move_to_end
from cachediag.rules.engine.actions.pin import pin_text
from cachediag.rules.engine.actions.replace import replace_text
from cachediag.rules.engine.actions.sort import sort_values
from cachediag.rules.engine.made import Made, Sent
from cachediag.rules.engine.places import Place
from cachediag.rules.rule import Rule

__all__ = ["ACTIONS_BY_NAME"]

ACTIONS_BY_NAME: dict[str, Callable[[Sent, Rule, Place], Iterator[Made]]] = {
    "drop-block": drop_block,
    "replace": replace_text,
    "sort": sort_values,
    "move-to-end": move_to_end,
    "pin": pin_text,
    "keep-inline": keep_inline,
}
