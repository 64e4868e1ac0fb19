"""What a decoder's reader is asked for each part of a schema, and what it answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from cachediag.lint.keywords import constrains, kinds, matches, violates
from cachediag.lint.references import MISSING, is_local, resolve
from cachediag.lint.support import Support
from cachediag.model import Json
from cachediag.protocol.jsontext import step

__all__ = [
    "Child",
    "Leaves",
    "Reader",
    "Reading",
    "Refused",
    "beside",
    "but_entailed",
    "listed",
    "named",
    "of_kinds",
]


class Refused(Exception):  # noqa: N818 - an outcome, not an error
    """The decoder refuses the schema.

    Args:
        why: in a few words.
        keyword: at which keyword of the part that is read.
    """

    def __init__(self, why: str, keyword: str | int | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.keyword = keyword


class Leaves(NamedTuple):
    """A keyword that is left out."""

    keyword: str
    why: str


class Child(NamedTuple):
    """A part of the schema that is read next."""

    path: str
    schema: Json
    quiet: bool = False
    """What is made of it is thrown away, so that only what cannot be read at all counts."""


@dataclass(frozen=True)
class Reading:
    """What a decoder makes of one part of a schema."""

    ignored: Sequence[Leaves] = ()
    children: Sequence[Child] = field(default_factory=tuple)


class Reader(Protocol):
    """Reads one schema as a decoder does."""

    def __init__(self, root: Json, support: Support) -> None:
        """Take the whole schema, and the table of what the decoder supports."""
        ...

    def read(self, schema: Json, path: str, *, quiet: bool) -> Reading:
        """Read one part.

        Args:
            schema: the part.
            path: its JSON path in the whole.
            quiet: nothing will be generated from it.

        Raises:
            Refused: the decoder refuses the whole for what stands here.
        """
        ...

    def finish(self) -> None:
        """Look at the whole, once every part was read.

        Raises:
            Refused: the decoder refuses it.
        """
        ...


def beside(schema: Mapping[str, Json], read: Iterable[str], why: str) -> Iterator[Leaves]:
    """The keywords that constrain something and are not among those that are read.

    Args:
        schema: the part that is read.
        read: the keywords that the decoder looks at there.
        why: what is said of the others, in a few words.
    """
    known = set(read)
    for keyword in schema:
        if keyword not in known and constrains(schema, keyword):
            yield Leaves(keyword, why)


def of_kinds(schema: Mapping[str, Json], values: Iterable[Json], why: str) -> Iterator[Leaves]:
    """The keywords beside `const` or `enum` that one of the values breaks.

    Args:
        schema: the part that is read.
        values: what the decoder lets through.
        why: what is said of the keywords, in a few words.
    """
    values = tuple(values)
    for keyword, argument in schema.items():
        if keyword not in {"const", "enum"} and any(
            violates(value, keyword, argument) for value in values
        ):
            yield Leaves(keyword, why)


def listed(schema: Mapping[str, Json], path: str, keyword: str, *, quiet: bool) -> list[Child]:
    """The branches of a keyword that takes a list of schemas.

    Raises:
        Refused: it is no list.
    """
    if not isinstance(schema[keyword], list):
        raise Refused(f"`{keyword}` is no list", keyword)
    at = step(path, keyword)
    return [Child(step(at, n), each, quiet) for n, each in enumerate(schema[keyword])]


def named(schema: Mapping[str, Json], path: str, keyword: str, *, quiet: bool) -> list[Child]:
    """The members of a keyword that takes schemas by name.

    Raises:
        Refused: it is no object.
    """
    if not isinstance(schema[keyword], dict):
        raise Refused(f"`{keyword}` is no object", keyword)
    at = step(path, keyword)
    return [Child(step(at, name), each, quiet) for name, each in schema[keyword].items()]


def _entails(branch: Json, wanted: frozenset[str], root: Json) -> bool:
    """Whether whatever fits a branch is of one of the types, as far as the branch says itself."""
    for _ in range(8):
        if not isinstance(branch, dict):
            return branch is False
        values = [branch["const"]] if "const" in branch else branch.get("enum")
        if isinstance(values, list):
            return all(any(matches(value, kind) for kind in wanted) for value in values)
        if "type" in branch:
            return kinds(branch) <= wanted | ({"integer"} if "number" in wanted else set())
        reference = branch.get("$ref")
        if not isinstance(reference, str) or not is_local(reference):
            return False
        branch = resolve(root, reference)
        if branch is MISSING:
            return False
    return False


def but_entailed(
    ignored: Iterable[Leaves], schema: Mapping[str, Json], branches: Iterable[Json], root: Json
) -> list[Leaves]:
    """What is left out of a part, but for a `type` that whatever fits its branches is of anyway.

    Args:
        ignored: what the decoder leaves out.
        schema: the part that is read.
        branches: those of its `anyOf` or `oneOf`, or what its `$ref` leads to.
        root: the whole schema, for references in the branches.
    """
    wanted = kinds(schema)
    if all(_entails(branch, wanted, root) for branch in branches):
        return [each for each in ignored if each.keyword != "type"]
    return [*ignored]
