"""Traces in the format that Mooncake (FAST '25) published: read, and written without any text.

One JSON object a line: `timestamp` in milliseconds, `input_length` and `output_length` in tokens,
`hash_ids`, one for each block of 512 tokens of the prompt: equal ids, equal blocks and equal
prefixes before them. Source: https://github.com/kvcache-ai/Mooncake
"""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO, Final, cast

import msgspec
from msgspec import Meta

from cachediag.errors import InputError, UsageError
from cachediag.fix.files import write_private
from cachediag.simulate.model import Request, Scale, Workload
from cachediag.simulate.workloads.amounts import check_least
from cachediag.simulate.workloads.arrivals import Arrivals

__all__ = ["BLOCK", "read", "write"]

BLOCK: Final = 512
"""Tokens of a block in the traces that were published."""
_GZIP = b"\x1f\x8b"
_MAX_LINE = 1 << 26
_FORMAT = "Give a trace of one JSON object a line, as docs/workloads.md describes it."
_ORDER = "Sort its lines by timestamp, or let the requests come at a rate."


class _Line(msgspec.Struct, frozen=True, gc=False):
    timestamp: Annotated[float, Meta(ge=0)]
    input_length: Annotated[int, Meta(ge=1)]
    output_length: Annotated[int, Meta(ge=0)]
    hash_ids: tuple[int, ...]


class _Written(msgspec.Struct, frozen=True, gc=False):
    timestamp: int
    input_length: int
    output_length: int
    hash_ids: list[int]


def read(
    path: str | Path,
    *,
    arrivals: Arrivals | None = None,
    block: int = BLOCK,
    repeat: int = 1,
) -> Workload:
    """A trace as a workload, read line by line each time that it is played.

    Args:
        path: the file, packed by gzip or not.
        arrivals: when its requests come; None for the times recorded.
        block: tokens of a block.
        repeat: how often the trace is played in a row. Each time all its blocks are others, so that
            nothing is found again that was not found in the trace itself.

    Raises:
        InputError: it cannot be read, or its first line is none of a trace. Iterating the requests
            raises it for later lines.
        UsageError: a number is below 1.
    """
    check_least(1, block=block, repeat=repeat)
    trace = _Trace(Path(path), arrivals or Arrivals(), block, repeat)
    if next(trace.lines(), None) is None:
        raise InputError("holds no requests", where=str(path), remedy=_FORMAT)
    return Workload(trace.path.name, Scale(block), trace.requests, trace.assumed())


@dataclass(frozen=True, slots=True)
class _Trace:
    path: Path
    arrivals: Arrivals
    block: int
    repeat: int

    def assumed(self) -> tuple[str, ...]:
        """What the trace does not say."""
        repeated = (
            f"the trace is played {self.repeat:,} times in a row, with other blocks each time",
        )
        return (
            "the trace names no conversations: a request goes on with the earlier one whose whole "
            "blocks it begins with, the longest that no other has gone on with",
            "the trace does not say which blocks a reply makes: replies are not kept",
            *(repeated if self.repeat > 1 else ()),
        )

    def requests(self, seed: int) -> Iterator[Request]:
        """The requests of all repetitions."""
        clock, start = self.arrivals.clock(seed), 0.0
        for copy in range(self.repeat):
            talks = _Talks(copy)
            count, first, last = 0, 0.0, 0.0
            for number, line in self.lines():
                time = line.timestamp / 1000
                if time < last and self.arrivals.rate is None:
                    raise self._wrong(number, "arrives before the line above it", _ORDER)
                first, last = (first if count else time), time
                count += 1
                ids = line.hash_ids
                if self.repeat > 1:
                    ids = tuple([key * self.repeat + copy for key in ids])
                yield Request(
                    arrival=clock(start + time),
                    session=talks.find(ids[: line.input_length // self.block]),
                    blocks=ids,
                    input_tokens=line.input_length,
                    output_tokens=line.output_length,
                )
            # As long after the last as the others are after each other, on the average.
            start += (last - first) * count / max(1, count - 1)

    def lines(self) -> Iterator[tuple[int, _Line]]:
        """The lines that are not blank, with their number from 1."""
        decode = msgspec.json.Decoder(_Line).decode
        number = 0
        with self._open() as file:
            while raw := self._raw(file, number + 1):
                number += 1
                if raw.isspace():
                    continue
                try:
                    line = decode(raw)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise self._wrong(number, f"is none of a trace ({error})") from None
                blocks = -(-line.input_length // self.block)
                if len(line.hash_ids) != blocks:
                    raise self._wrong(
                        number,
                        f"{line.input_length:,} tokens make {blocks:,} blocks of {self.block}, "
                        f"but there are {len(line.hash_ids):,} hash_ids",
                        "Say how many tokens a block of this trace has.",
                    )
                yield number, line

    def _open(self) -> BinaryIO:
        try:
            with self.path.open("rb") as file:
                is_packed = file.read(len(_GZIP)) == _GZIP
            return cast("BinaryIO", gzip.open(self.path)) if is_packed else self.path.open("rb")
        except OSError as error:
            raise self._unread(error) from error

    def _raw(self, file: BinaryIO, number: int) -> bytes:
        try:
            raw = file.readline(_MAX_LINE)
        except (OSError, EOFError, zlib.error) as error:
            raise self._unread(error) from error
        if len(raw) == _MAX_LINE:
            raise self._wrong(number, f"is too long (more than {_MAX_LINE >> 20} MiB)")
        return raw

    def _wrong(self, number: int, message: str, remedy: str = _FORMAT) -> InputError:
        return InputError(f"line {number}: {message}", where=str(self.path), remedy=remedy)

    def _unread(self, error: Exception) -> InputError:
        reason = (error.strerror if isinstance(error, OSError) else None) or "a damaged gzip file"
        return InputError(f"cannot be read ({reason})", where=str(self.path), remedy=_FORMAT)


class _Talks:
    """Tells conversations apart by their blocks.

    Args:
        copy: the number of the repetition, whose conversations are its own.
    """

    def __init__(self, copy: int) -> None:
        self._copy = copy
        self._count = 0
        self._open: dict[int, str] = {}
        """Last whole block of the newest prompt of each conversation."""

    def find(self, blocks: Sequence[int]) -> str:
        """The conversation that a prompt of these whole blocks belongs to."""
        known = self._open
        at = next((key for key in reversed(blocks) if key in known), None)
        if at is None:
            self._count += 1
            talk = f"{self._copy}-{self._count}"
        else:
            talk = known.pop(at)
        if blocks:
            known[blocks[-1]] = talk
        return talk


def write(workload: Workload, path: str | Path, *, seed: int = 0, block: int = BLOCK) -> int:
    """Write a workload as a trace, which tells nothing of its text.

    Ids are numbers from 0 in the order in which blocks first appear; conversations, heads and
    replies are left out. The file can be read by its owner alone, and is there whole or not at all.

    Args:
        workload: its requests must not wait for each other.
        path: the file; packed by gzip where it ends in `.gz`.
        seed: of the requests.
        block: tokens of a block; a multiple of those of the workload's own.

    Returns:
        How many requests were written.

    Raises:
        UsageError: the blocks do not fit, requests wait for others, or the file cannot be written.
    """
    own, path = workload.scale.block, Path(path)
    if block < 1 or block % own:
        raise UsageError(
            f"blocks of {own} tokens cannot be made into blocks of {block}",
            remedy=f"Name a multiple of {own}.",
        )
    ids: dict[int, int] = {}
    lines = [
        msgspec.json.encode(_written(request, block // own, ids)) + b"\n"
        for request in workload.requests(seed)
    ]
    content = b"".join(lines)
    # Without a time, so that the same requests make the same file.
    write_private(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return len(lines)


def _written(request: Request, small: int, ids: dict[int, int]) -> _Written:
    """A request as a line.

    Args:
        request: it waits for none and none waits for it.
        small: how many of its blocks make one of the trace.
        ids: the number of each block so far.
    """
    if request.then is not None:
        raise UsageError(
            "requests that wait for the end of others have no times that a trace could hold",
            remedy="Take times as recorded, or at a rate.",
        )
    blocks = request.blocks
    # A key names all that stands before its block: the last one names them all.
    keys = [*blocks[small - 1 :: small], *(blocks[-1:] if len(blocks) % small else ())]
    return _Written(
        timestamp=round(request.arrival * 1000),
        input_length=request.input_tokens,
        output_length=request.output_tokens,
        hash_ids=[ids.setdefault(key, len(ids)) for key in keys],
    )
