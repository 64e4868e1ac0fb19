"""Prometheus text, as servers write it at `/metrics`.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from math import isfinite

__all__ = ["label", "read_metrics", "risen", "rises"]

_SAMPLE = re.compile(
    r"^([A-Za-z_:][\w:]*)(?:\{([^\n]*)\})?[ \t]+"
    r"([-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|NaN|[Ii]nf))(?=[ \t\r]|$)",
    re.MULTILINE,
)


def read_metrics(text: str) -> dict[str, float]:
    """The value of each metric, summed over its labels."""
    values = dict[str, float]()
    for name, _, value in _SAMPLE.findall(text):
        values[name] = values.get(name, 0.0) + float(value)
    return values


def label(text: str, metric: str, name: str) -> str | None:
    """A label's value in the first sample of a metric; None where there is none."""
    for found, labels, _ in _SAMPLE.findall(text):
        if found == metric:
            value = re.search(rf'(?:^|,)\s*{re.escape(name)}="((?:[^"\\]|\\.)*)"', labels)
            return value[1] if value else None
    return None


def risen(before: Mapping[str, float], after: Mapping[str, float], name: str) -> int | None:
    """How much a counter rose; None where it is not there, is no number, or was set back between.

    A counter that appears only with its first event counts from zero.
    """
    if name not in after:
        return None
    rise = after[name] - before.get(name, 0.0)
    return round(rise) if isfinite(rise) and rise >= 0 else None


def rises(before: str, after: str) -> Callable[[str], int | None]:
    """How much each counter rose between two readings, by its name; see `risen`."""
    return partial(risen, read_metrics(before), read_metrics(after))
