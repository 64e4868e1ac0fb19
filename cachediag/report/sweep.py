"""How a sweep over SageMaker's two numbers looks: the pair to take, all pairs, and the traps."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from cachediag.report.diff import title
from cachediag.report.safe import printable
from cachediag.report.simulate import assumptions, header, seconds
from cachediag.report.style import BAD, DIM, GOOD, Paragraph, commands, count, line, symbols
from cachediag.simulate.lengths import Length, Trap
from cachediag.simulate.sweep import Cell, Sweep

__all__ = ["SweepReport", "pitfalls"]

_OTHER = {"bytes": "characters", "characters": "bytes"}
_COUNTED = {"bytes": "bytes of the body", "characters": "characters of the messages' text"}


@dataclass(frozen=True, slots=True)
class SweepReport:
    """All pairs of the two numbers on one's own sessions."""

    made: Sweep
    told: tuple[str, ...] = ()
    """What was measured or taken for granted of the servers, a line each."""
    next: tuple[tuple[str, str], ...] = ()
    """Commands to go on with, and what each is for."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report's lines."""
        made = self.made
        yield from header(made.fleet, made.ceiling.requests)
        yield Text()
        yield from self._answer()
        yield Text()
        head = f"PrefixLength in {_COUNTED[made.unit]}, ConcurrencyThreshold from left to right"
        yield line((head, DIM))
        yield from _table(made, "p90 of the first token, s", _p90)
        yield from _table(made, "hit rate, %", _hit_rate)
        yield Text()
        yield from _lengths(made)
        yield Text()
        for applies, sentence in pitfalls(made):
            sign = f"{symbols(options).cost} " if applies else "  "
            yield Paragraph(f"{sign}{printable(sentence)}", BAD if applies else DIM, "  ")
        yield Text()
        yield from assumptions((*self.told, *made.fleet.workload.assumed))
        if self.next:
            yield Text()
            yield from commands({printable(command): purpose for command, purpose in self.next})

    def _answer(self) -> Iterator[Paragraph]:
        made = self.made
        pair, equals, tried = made.recommended, len(made.equals), len(made.cells)
        figures, chance = pair.outcome.figures, made.random.figures
        yield Paragraph(
            f"PrefixLength {pair.prefix_length:,} with ConcurrencyThreshold {pair.threshold:,}:"
            f" {seconds(figures.ttft.p90.value)} to the first token at the 90th percentile"
            f" ({seconds(chance.ttft.p90.value)} at random), {figures.hit_rate.value:.1%} of the"
            f" prompt tokens reused ({chance.hit_rate.value:.1%} at random,"
            f" {made.ceiling.hit_rate:.1%} by one server that keeps everything).",
            GOOD if made.beats_random else "",
        )
        if not made.beats_random and made.fleet.repeats > 1:
            yield Paragraph("That cannot be told from routing at random.")
        if equals == tried:
            yield Paragraph(
                f"There is nothing to choose: none of the {tried:,} pairs can be told from the"
                " fastest. This one has the shortest head."
            )
        elif equals > 1:
            yield Paragraph(
                f"{equals:,} of {tried:,} pairs cannot be told from the fastest. Of these with the"
                " shortest head, this one is the fastest."
            )


def _p90(cell: Cell) -> str:
    value = cell.outcome.figures.ttft.p90.value
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _hit_rate(cell: Cell) -> str:
    return f"{100 * cell.outcome.figures.hit_rate.value:.1f}"


def _table(made: Sweep, name: str, figure: Callable[[Cell], str]) -> Iterator[Text]:
    cells = {(each.prefix_length, each.threshold): each for each in made.cells}
    columns = "".join(f"{threshold:>6,}" for threshold in made.thresholds)
    yield line((f"{'':>8}{columns}   {name}", DIM))
    for length in made.prefix_lengths:
        row = [Text(f"{length:>8,}")]
        for threshold in made.thresholds:
            cell = cells[length, threshold]
            chosen = cell == made.recommended
            row.append(Text(f"{figure(cell):>6}", f"bold {GOOD}" if chosen else ""))
        note = "   recommended" if length == made.recommended.prefix_length else ""
        yield line(*row, (note, GOOD))


def _lengths(made: Sweep) -> Iterator[Text]:
    looked, other = made.looked, _OTHER[made.unit]
    yield line((f"what such a head is here: medians of {count(looked.requests, 'request')}", DIM))
    head = f"{made.unit:>10}{other:>12}{'tokens':>8}{'of tools, system':>20}{'heads':>7}"
    yield line((f"{head}   most end in", DIM))
    for each in looked.lengths:
        inside = f"{each.leading_tokens:,} of {looked.leading_tokens:,}"
        counted = each.characters if other == "characters" else each.bytes
        ends = printable(each.ends_in) if each.ends_in else "(the end)"
        row = f"{each.length:>10,}{counted:>12,}{each.tokens:>8,}{inside:>20}{each.heads:>7,}"
        yield line(f"{row}   {ends}")


def pitfalls(made: Sweep) -> Iterator[tuple[bool, str]]:
    """What was seen in these sessions that makes a head another thing than it seems.

    Yields:
        Whether it holds for the recommended length, and a sentence; the recommended length first.
    """
    looked, length = made.looked, made.recommended.prefix_length
    (at,) = [each for each in looked.lengths if each.length == length]
    of = f"of {count(looked.requests, 'request')}"
    if at.without_leading:
        yield True, _without_leading(made, at, of)
    if at.heads == 1 and looked.requests > 1:
        yield True, "All requests have one head: it tells nothing of which conversation they are."
    if at.tokens != length:
        counted = min(length, at.bytes if made.unit == "bytes" else at.characters)
        yield False, f"{counted:,} {made.unit} of these requests are {at.tokens:,} tokens."
    if at.wide:
        yield (
            False,
            f"In {at.wide:,} {of} the head has characters of more than one byte: bytes are not"
            " characters.",
        )
    for trap in sorted(looked.traps, key=lambda each: each.offsets[0]):
        yield _seen(made, trap, of)


def _without_leading(made: Sweep, at: Length, of: str) -> str:
    if made.unit == "bytes":
        return (
            f"In {at.without_leading:,} {of} the first {at.length:,} bytes hold nothing of tools"
            " and system prompt, because messages stand before them in the body: such a head is the"
            " conversation, not what conversations share."
        )
    return (
        f"In {at.without_leading:,} {of} the first {at.length:,} characters of the messages' text"
        " hold nothing of tools and system prompt: such a head is the conversation, not what"
        " conversations share."
    )


def _seen(made: Sweep, trap: Trap, of: str) -> tuple[bool, str]:
    length = made.recommended.prefix_length
    number = trap.requests(length)
    singular = made.unit.removesuffix("s")
    where = f"{trap.path}, {singular} {trap.offsets[0]:,}"
    what = {
        "volatile": f"{_titled(trap.code)} ({where}) is new",
        "key-order": f"the body has its fields in another order ({where})",
        "spelling": f"what is said is the same and its bytes are not ({where})",
    }[trap.kind]
    if number:
        return True, f"In {number:,} {of} {what}: each time that makes another head."
    longer = next(each for each in made.prefix_lengths if trap.requests(each))
    seen = trap.requests(made.prefix_lengths[-1])
    return False, f"From a PrefixLength of {longer:,} on: in up to {seen:,} {of} {what}."


def _titled(code: str | None) -> str:
    return f"{code} {title(code)}" if code else "a value"
