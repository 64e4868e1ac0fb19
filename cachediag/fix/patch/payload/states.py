"""The state of a model after some tokens: taken from its caches, and put back.

Caches of the plain kind are kept as slices, a conversation's from where its system prefix ends, so
that the prefix is in memory once. Of all other kinds of mlx-lm whole copies are kept. Caches of
anybody else are not kept at all, for nothing tells that a copy of them is enough.
"""

import copy
from typing import Any

import mlx.core as mx
from mlx.utils import tree_flatten
from mlx_lm.models import cache as caches

__all__ = ["Copied", "Sliced", "refusal", "restore", "take", "trims"]

_LENGTH_AXIS = 2
"""Arrays of a plain cache are batch × heads × tokens × size."""


class Sliced:
    """Keys and values of a range of tokens, layer by layer.

    Args:
        cache: the model's caches, which hold `end` tokens or more.
        end: where the range ends.
        base: the state of the tokens before it; None where it begins with the first.
    """

    trims = True

    def __init__(self, cache: list[Any], end: int, base: "Sliced | None") -> None:
        self.base = base
        self.start: int = base.end if base else 0
        self.end: int = end
        if any(each.offset < end for each in cache):
            raise ValueError("a layer holds fewer tokens than were processed")
        # A slice is a new array, but may be a view that keeps the whole buffer in memory.
        self.layers = [
            tuple(mx.contiguous(array[:, :, self.start : end]) for array in each.state)
            for each in cache
        ]

    @property
    def nbytes(self) -> int:
        """Memory of this range."""
        return sum(array.nbytes for layer in self.layers for array in layer)

    def settle(self) -> None:
        """Compute the arrays: what is pending can only be computed on this thread."""
        mx.eval(self.layers)

    def restore(self, cache: list[Any], length: int) -> None:
        """Fill a model's new caches with the first tokens, from the very first on."""
        own = [
            tuple(array[:, :, : max(0, length - self.start)] for array in layer)
            for layer in self.layers
        ]
        if self.base is None:
            for each, layer in zip(cache, own):  # noqa: B905 - a layer may share another's cache
                each.state = layer
            return
        for each, layer, before in zip(cache, own, self.base.layers):  # noqa: B905 - as above
            each.state = tuple(
                mx.concatenate([old[:, :, :length], new], axis=_LENGTH_AXIS)
                for old, new in zip(before, layer)  # noqa: B905 - keys and values
            )


class Copied:
    """Copies of a model's caches, of whatever kinds they are.

    Args:
        cache: the model's caches.
        length: how many tokens they hold.
    """

    def __init__(self, cache: list[Any], length: int) -> None:
        self.length = length
        # Assigning to a part of an array changes what all that hold it see.
        self.cache = copy.deepcopy(cache)

    @property
    def trims(self) -> bool:
        """Whether the copies can be cut; a window that has moved on cannot."""
        return bool(caches.can_trim_prompt_cache(self.cache))

    @property
    def nbytes(self) -> int:
        """Memory of the copies."""
        return sum(array.nbytes for array in _arrays(self.cache))

    def settle(self) -> None:
        """Compute the arrays: what is pending can only be computed on this thread."""
        mx.eval(_arrays(self.cache))

    def restored(self, length: int) -> list[Any]:
        """Caches of the first tokens.

        Raises:
            ValueError: they are of a kind that cannot be cut so short.
        """
        cache = copy.deepcopy(self.cache)
        surplus = self.length - length
        if surplus and caches.trim_prompt_cache(cache, surplus) != surplus:
            raise ValueError("the caches could not be cut")
        return cache


def refusal(model: Any) -> str | None:
    """Why states of a model cannot be kept; None where they can."""
    made = caches.make_prompt_cache(model)
    if not made:
        return "the model makes no cache"
    strange = {type(each) for each in made if type(each).__module__ != caches.__name__}
    if strange:
        names = ", ".join(sorted(kind.__name__ for kind in strange))
        return f"the model has caches of a kind that cannot be restored: {names}"
    return None


def trims(model: Any) -> bool:
    """Whether the caches of a model can be cut, when they are new."""
    return bool(caches.can_trim_prompt_cache(caches.make_prompt_cache(model)))


def take(cache: list[Any], length: int, base: "Sliced | Copied | None") -> "Sliced | Copied":
    """The state after so many tokens, to be settled before it is kept.

    Args:
        cache: the model's caches, which hold just these tokens.
        length: how many tokens.
        base: the state after the system prefix, of the same prompt.
    """
    if all(type(each) is caches.KVCache for each in cache):
        return Sliced(cache, length, base if isinstance(base, Sliced) else None)
    return Copied(cache, length)


def restore(model: Any, state: "Sliced | Copied", length: int) -> list[Any]:
    """Caches of a model as they were after the first tokens of a state."""
    if isinstance(state, Copied):
        return state.restored(length)
    cache: list[Any] = caches.make_prompt_cache(model)
    state.restore(cache, length)
    return cache


def _arrays(cache: list[Any]) -> list[mx.array]:
    leaves = (leaf for _, leaf in tree_flatten([each.state for each in cache]))
    return [leaf for leaf in leaves if isinstance(leaf, mx.array)]
