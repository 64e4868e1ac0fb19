"""A regular expression as an automaton, to tell whether it can run away.

Python's own parser reads the expression; it is never run. Each character that it may match is a
position, and which positions may follow which is worked out once (Glushkov's construction). Two
things are told of it:

- *ambiguous in a loop*: one text leads round a loop in two ways, so that a validator that
  backtracks, as those of JavaScript and Python do, may take exponential time. Weber and Seidl, "On
  the degree of ambiguity of finite automata", 1991.
- *many states*: made deterministic, as decoders make it, it needs thousands of states.
"""

import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Literal, TypeVar

from cachediag.rules.pattern.charset import DIGIT, LINE, CharSet

__all__ = ["Risk", "risk"]

Risk = Literal["ambiguous", "states", "none", "unread"]
"""`unread`: it is no expression that Python reads."""

_LONGEST = 5_000
_MOST_POSITIONS = 6_000
_MOST_SINGLE = 200
_MOST_PRODUCT = 60
_MOST_STATES = 4_000
_MOST_WORK = 400_000
_MOST_LETTERS = 200
_Node = TypeVar("_Node")
_GROUP = re.compile(r"\(\?<(?=[A-Za-z_])")
_PROPERTY = re.compile(r"\\p\{[^}]*\}")


class _TooLarge(Exception):  # noqa: N818 - ends the construction
    """There are more positions than are looked at."""


@dataclass
class _Piece:
    first: list[int]
    last: list[int]
    empty: bool


@dataclass
class _Automaton:
    chars: list[CharSet] = field(default_factory=list)
    follow: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    edges: int = 0

    def position(self, chars: CharSet) -> _Piece:
        if len(self.chars) >= _MOST_POSITIONS:
            raise _TooLarge
        self.chars.append(chars)
        number = len(self.chars) - 1
        return _Piece([number], [number], empty=False)

    def join(self, before: Iterable[int], behind: list[int]) -> None:
        for one in before:
            self.edges += len(behind)
            if self.edges > _MOST_WORK:
                raise _TooLarge
            self.follow[one] += behind


@lru_cache(maxsize=512)
def risk(pattern: str) -> Risk:
    """What may happen when a text is matched with an expression, or a grammar made of it.

    Args:
        pattern: an expression as JSON Schema has it.
    """
    if len(pattern) > _LONGEST:
        return "states"
    from re import _parser  # type: ignore[attr-defined] # the standard library's own reader

    readable = _PROPERTY.sub(r"[^\\W\\d_]", _GROUP.sub("(?P<", pattern))
    automaton = _Automaton()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = _parser.parse(readable)
        whole = _build(automaton, parsed)
    except _TooLarge:
        return "states"
    except (re.error, RecursionError, OverflowError, NotImplementedError):
        return "unread"
    if _is_ambiguous(automaton):
        return "ambiguous"
    return "states" if _has_many_states(automaton, whole) else "none"


def _build(automaton: _Automaton, items: Iterable[tuple[object, object]]) -> _Piece:
    piece = _Piece([], [], empty=True)
    for operation, argument in items:
        piece = _chain(automaton, piece, _one(automaton, str(operation), argument))
    return piece


def _chain(automaton: _Automaton, a: _Piece, b: _Piece) -> _Piece:
    automaton.join(a.last, b.first)
    return _Piece(
        a.first + b.first if a.empty else a.first,
        a.last + b.last if b.empty else b.last,
        empty=a.empty and b.empty,
    )


def _one(automaton: _Automaton, operation: str, argument: object) -> _Piece:
    match operation, argument:
        case "LITERAL", int(code):
            return automaton.position(CharSet(((code, code),)))
        case "NOT_LITERAL", int(code):
            return automaton.position(CharSet(((code, code),)).others())
        case "ANY", _:
            return automaton.position(LINE)
        case "IN", list(members):
            return automaton.position(_class(members))
        case "BRANCH", (_, list(options)):
            pieces = [_build(automaton, option) for option in options]
            return _Piece(
                [n for each in pieces for n in each.first],
                [n for each in pieces for n in each.last],
                empty=any(each.empty for each in pieces),
            )
        case "SUBPATTERN", (_, _, _, inner):
            return _build(automaton, inner)  # type: ignore[arg-type]
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT", (int(low), high, inner):
            return _repeat(automaton, low, high, inner)
        case "ATOMIC_GROUP", inner:
            return _build(automaton, inner)  # type: ignore[arg-type]
        case "AT" | "ASSERT" | "ASSERT_NOT", _:
            return _Piece([], [], empty=True)
    raise NotImplementedError(operation)


def _repeat(automaton: _Automaton, low: int, high: object, inner: object) -> _Piece:
    endless = str(high) == "MAXREPEAT"
    most = max(low, 1) if endless else int(str(high))
    copies = [_build(automaton, inner)] if most else []  # type: ignore[arg-type]
    if len(copies) == 1 and len(copies[0].first) == 1 and copies[0].first == copies[0].last:
        # A single character many times over: more of it changes nothing.
        low, most = min(low, _MOST_SINGLE), min(most, _MOST_SINGLE)
    copies += [_build(automaton, inner) for _ in range(most - 1)]  # type: ignore[arg-type]
    if endless:
        automaton.join(copies[-1].last, copies[-1].first)
    # What may be left out stands in what stands before it: `a(a(a)?)?`.
    tail = _Piece([], [], empty=True)
    for once in reversed(copies[low:]):
        tail = _chain(automaton, once, tail)
        tail.empty = True
    piece = _Piece([], [], empty=True)
    for once in copies[:low]:
        piece = _chain(automaton, piece, once)
    return _chain(automaton, piece, tail)


def _class(members: list[tuple[object, object]]) -> CharSet:
    ranges: list[tuple[int, int]] = []
    negated = False
    for operation, argument in members:
        match str(operation), argument:
            case "NEGATE", _:
                negated = True
            case "LITERAL", int(code):
                ranges.append((code, code))
            case "RANGE", (int(low), int(high)):
                ranges.append((low, high))
            case "CATEGORY", category:
                ranges += _category(str(category)).ranges
    found = CharSet.of(ranges)
    return found.others() if negated else found


_SPACE = CharSet(((9, 13), (32, 32), (160, 160)))
# Every letter beyond ASCII is taken for one of a word.
_WORD = CharSet(((48, 57), (65, 90), (95, 95), (97, 122), (170, 0x10FFFF)))


def _category(name: str) -> CharSet:
    kind = _SPACE if "SPACE" in name else DIGIT if "DIGIT" in name else _WORD
    return kind.others() if "NOT" in name else kind


def _is_ambiguous(automaton: _Automaton) -> bool:
    """Whether one text leads round a loop in two ways."""
    loops = _loops({one: set(behind) for one, behind in automaton.follow.items()})
    for loop in loops:
        # The same step twice: `(a+)+` may go on inside or outside.
        inside = ([n for n in automaton.follow[one] if n in loop] for one in loop)
        if any(len(each) != len(set(each)) for each in inside):
            return True
        if 1 < len(loop) <= _MOST_PRODUCT and _meets_itself(automaton, loop):
            return True
    return False


def _meets_itself(automaton: _Automaton, loop: frozenset[int]) -> bool:
    follow = {one: {n for n in automaton.follow[one] if n in loop} for one in loop}
    chars = automaton.chars
    alike = {(a, b) for a, b in product(loop, loop) if chars[a].meets(chars[b])}
    pairs = {
        (a, b): {each for each in product(follow[a], follow[b]) if each in alike} for a, b in alike
    }
    for found in _loops(pairs):
        equal = any(a == b for a, b in found)
        if equal and any(a != b for a, b in found):
            return True
    return False


def _loops(graph: Mapping[_Node, set[_Node]]) -> list[frozenset[_Node]]:
    """The groups of nodes that are reached from one another (Tarjan), without recursion."""
    index: dict[_Node, int] = {}
    low: dict[_Node, int] = {}
    stack: list[_Node] = []
    on_stack: set[_Node] = set()
    found: list[frozenset[_Node]] = []
    for root in graph:
        if root in index:
            continue
        waiting = [(root, iter(graph.get(root, ())))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while waiting:
            node, behind = waiting[-1]
            for one in behind:
                if one not in index:
                    index[one] = low[one] = len(index)
                    stack.append(one)
                    on_stack.add(one)
                    waiting.append((one, iter(graph.get(one, ()))))
                    break
                if one in on_stack:
                    low[node] = min(low[node], index[one])
            else:
                waiting.pop()
                if waiting:
                    above = waiting[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == index[node]:
                    group: list[_Node] = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    if len(group) > 1 or node in graph.get(node, ()):
                        found.append(frozenset(group))
    return found


def _has_many_states(automaton: _Automaton, whole: _Piece) -> bool:
    """Whether making it deterministic takes more states than are looked at."""
    kinds = set(automaton.chars)
    marks = {edge for chars in kinds for low, high in chars.ranges for edge in (low, high + 1)}
    letters = [CharSet(((one, one),)) for one in (0, *sorted(marks)[:_MOST_LETTERS])]
    # Letters that the same positions take are one.
    taken = {
        frozenset(number for number, chars in enumerate(automaton.chars) if chars.meets(one))
        for one in letters
    }
    start = frozenset(whole.first)
    seen, waiting, work = {start}, [start], 0
    while waiting:
        here = waiting.pop()
        for letter in taken:
            now = here & letter
            work += len(here) + 1
            if not now:
                continue
            there = frozenset(n for one in now for n in automaton.follow[one])
            work += len(there)
            if there not in seen:
                seen.add(there)
                waiting.append(there)
        if len(seen) > _MOST_STATES + 2 * len(automaton.chars) or work > _MOST_WORK * 10:
            return True
    return False
