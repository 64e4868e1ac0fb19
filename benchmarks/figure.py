"""One measured figure, and what is aimed at."""

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Figure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure of the table."""

    group: str
    """What was measured: `recorder`, `session file`, `start-up`."""
    name: str
    value: float
    unit: str
    aim: float | None = None
    """None where the figure only explains another."""
    better: Literal["less", "more"] = "less"

    @property
    def met(self) -> bool | None:
        """Whether the aim is met; None where there is none."""
        if self.aim is None:
            return None
        return self.value <= self.aim if self.better == "less" else self.value >= self.aim

    def as_json(self) -> dict[str, Any]:
        """The figure as it stands in the JSON document."""
        return {
            "group": self.group,
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "aim": self.aim,
            "better": self.better,
            "met": self.met,
        }
