"""Plots of a simulated fleet, as PNG or SVG: nothing of what was recorded is in them but names.

matplotlib comes with the extra `plot`, and is imported where it is used. The same figures give the
same file, byte for byte, as long as matplotlib and its fonts are the same.
"""

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from cachediag.errors import UsageError
from cachediag.extras import need
from cachediag.fix.files import write_private
from cachediag.report.safe import printable
from cachediag.report.simulate import labels
from cachediag.simulate.comparison import Compared, Outcome
from cachediag.simulate.sweep import Sweep
from cachediag.verify.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SUFFIXES", "check", "plot_policies", "plot_sweep"]

SUFFIXES = (".png", ".svg")
_DOTS = 150
# No more points than can be told apart.
_POINTS = 1000
_PERCENTILES = ("p50", "p90", "p99")


def check(path: Path) -> None:
    """See that a plot could be written there, before anything is played.

    Raises:
        UsageError: the name has another suffix, or matplotlib is not installed.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            "a plot is a PNG or an SVG", where=str(path), remedy="Name it FILE.png or FILE.svg."
        )
    _figure(1, 1)


def plot_policies(made: Compared, path: Path) -> None:
    """Hit rates, percentiles of the time to first token, and its distribution in one run.

    Raises:
        UsageError: the file cannot be written, or matplotlib is not installed.
    """
    figure, (hits, times, shares) = _figure(14, 5, 3)
    names = [_plain(each) for each in labels([of.policy for of in made.outcomes]).values()]
    _hit_rates(hits, made, names)
    _times(times, made.outcomes, names)
    for each, name in zip(made.outcomes, names, strict=True):
        taken = _thinned(sorted(each.sample.ttft))
        shares.step([x for x, _ in taken], [y for _, y in taken], where="post", label=name)
    shares.set_xscale("symlog", linthresh=0.01)
    shares.set(title="distribution", xlabel="time to first token (s)", ylabel="share of requests")
    shares.legend(fontsize="x-small")
    _save(figure, path, made.fleet.workload.name)


def plot_sweep(made: Sweep, path: Path) -> None:
    """Time to first token and hit rate, for each PrefixLength and ConcurrencyThreshold.

    Raises:
        UsageError: the file cannot be written, or matplotlib is not installed.
    """
    figure, (times, hits) = _figure(13, 5, 2)
    _heat(times, made, "time to first token, p90 (s)", lambda of: of.figures.ttft.p90.value)
    _heat(hits, made, "hit rate (%)", lambda of: 100 * of.figures.hit_rate.value)
    _save(figure, path, made.fleet.workload.name)


def _figure(width: float, height: float, axes: int = 1) -> "tuple[Figure, Sequence[Axes]]":
    need("matplotlib", "plot", "--plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, [figure.add_subplot(1, axes, number + 1) for number in range(axes)]


def _hit_rates(axes: "Axes", made: Compared, names: Sequence[str]) -> None:
    rates = [each.figures.hit_rate for each in made.outcomes]
    axes.barh(names, [each.value for each in rates], xerr=_errors(rates))
    if made.ceiling.input_tokens:
        axes.axvline(made.ceiling.hit_rate, linestyle="--", color="black")
    axes.invert_yaxis()
    axes.set(title="hit rate", xlabel="share of prompt tokens (dashed: one server that keeps all)")
    axes.set_xlim(left=0)


def _times(axes: "Axes", outcomes: Sequence[Outcome], names: Sequence[str]) -> None:
    height = 0.8 / len(_PERCENTILES)
    for number, name in enumerate(_PERCENTILES):
        times = [getattr(each.figures.ttft, name) for each in outcomes]
        places = [row + (number - 1) * height for row in range(len(outcomes))]
        values = [each.value for each in times]
        axes.barh(places, values, height=height, xerr=_errors(times), label=name)
    axes.set_yticks(range(len(outcomes)), names)
    axes.invert_yaxis()
    axes.set(title="time to first token", xlabel="seconds")
    axes.set_xlim(left=0)
    axes.legend(fontsize="x-small")


def _errors(estimates: Sequence[Estimate]) -> tuple[list[float], list[float]]:
    below = [max(0.0, each.value - each.low) for each in estimates]
    return below, [max(0.0, each.high - each.value) for each in estimates]


def _thinned(ordered: Sequence[float]) -> list[tuple[float, float]]:
    """Points of a cumulative distribution: value, and share of values up to it."""
    every = max(1, len(ordered) // _POINTS)
    taken = [*range(0, len(ordered), every), len(ordered) - 1] if ordered else []
    return [(ordered[number], (number + 1) / len(ordered)) for number in taken]


def _heat(axes: "Axes", made: Sweep, title: str, value: "Callable[[Outcome], float]") -> None:
    from matplotlib.patches import Rectangle

    cells = {(each.prefix_length, each.threshold): value(each.outcome) for each in made.cells}
    lengths, thresholds = made.prefix_lengths, made.thresholds
    table = [[cells[length, threshold] for threshold in thresholds] for length in lengths]
    image = axes.imshow(table, aspect="auto", cmap="viridis")
    axes.figure.colorbar(image, ax=axes)
    axes.set_xticks(range(len(thresholds)), [f"{each:,}" for each in thresholds])
    axes.set_yticks(range(len(lengths)), [f"{each:,}" for each in lengths])
    middle = (min(cells.values()) + max(cells.values())) / 2
    for row, length in enumerate(lengths):
        for column, threshold in enumerate(thresholds):
            of = cells[length, threshold]
            axes.text(
                *(column, row, f"{of:.3g}"),
                ha="center",
                va="center",
                color="white" if of < middle else "black",
            )
    row = lengths.index(made.recommended.prefix_length)
    column = thresholds.index(made.recommended.threshold)
    frame = Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="red", linewidth=2)
    axes.add_patch(frame)
    axes.set(title=title, xlabel="ConcurrencyThreshold", ylabel=f"PrefixLength ({made.unit})")


def _save(figure: "Figure", path: Path, name: str) -> None:
    import matplotlib as mpl

    figure.suptitle(_plain(name))
    kind = path.suffix.lower().removeprefix(".")
    # Else an SVG says when it was made, and names its parts anew each time.
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    drawn = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "cachediag"}):
        figure.savefig(drawn, format=kind, dpi=_DOTS, metadata=metadata)
    write_private(path, drawn.getvalue())


def _plain(name: str) -> str:
    # A dollar sign would begin a formula.
    return printable(name).replace("$", r"\$")
