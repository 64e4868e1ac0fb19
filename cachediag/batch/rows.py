"""A row a request, for Parquet: no text of the session, only what was counted in it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from cachediag.analysis.analysed import Analysed
from cachediag.analysis.summary import Analysis, Cost
from cachediag.batch.model import Table
from cachediag.session.rows import storable

__all__ = ["COLUMNS", "Column", "schema", "table"]

Type = Literal["string", "int64", "double", "bool", "timestamp", "list<string>", "list<int64>"]


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    made: Analysis
    request: Analysed
    cost: Cost | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the rows."""

    name: str
    type: Type
    """`timestamp`: microseconds, UTC."""
    nullable: bool
    value: Callable[[_Row], Any]


def _lost(value: Callable[[tuple[str, str | None, int]], Any]) -> Callable[[_Row], Any]:
    return lambda row: [value(each) for each in row.request.blamed]


COLUMNS: Final = (
    Column("session", "string", False, lambda row: storable(row.label)),
    Column("index", "int64", False, lambda row: row.request.info.index),
    Column("lane", "string", False, lambda row: storable(row.request.lane)),
    Column("kind", "string", False, lambda row: row.request.kind),
    Column("parent", "int64", True, lambda row: row.request.parent),
    Column("started", "timestamp", True, lambda row: _microseconds(row.request.info.started)),
    Column("model", "string", True, lambda row: _text(row.request.info.model)),
    Column("profile", "string", False, lambda row: storable(row.made.profile)),
    Column("tokenizer", "string", False, lambda row: storable(row.made.model)),
    Column("engine", "string", False, lambda row: storable(row.made.engine)),
    Column("prompt_tokens", "int64", False, lambda row: row.request.prompt_tokens),
    Column("shared_tokens", "int64", False, lambda row: row.request.shared_tokens),
    Column("reused_tokens", "int64", False, lambda row: row.request.reused_tokens),
    Column("new_tokens", "int64", False, lambda row: row.request.new_tokens),
    Column("avoidable_tokens", "int64", False, lambda row: row.request.avoidable_tokens),
    Column("exact", "bool", False, lambda row: row.request.exact),
    Column("counted", "bool", False, lambda row: row.request.problem is None),
    Column("usd", "double", True, lambda row: row.cost and row.cost.usd),
    Column("avoidable_usd", "double", True, lambda row: row.cost and row.cost.avoidable_usd),
    # The engine's own design has no code, as in the JSON.
    Column("codes", "list<string>", False, _lost(lambda each: None if each[0] == "-" else each[0])),
    Column("paths", "list<string>", False, _lost(lambda each: _text(each[1]))),
    Column("lost", "list<int64>", False, _lost(lambda each: each[2])),
)
"""The columns of a row, in their order; `docs/how-to/many-sessions.md` says what they mean."""


def schema() -> Any:
    """The columns as a `pyarrow.Schema`."""
    import pyarrow as pa

    types = {
        "string": pa.string(),
        "int64": pa.int64(),
        "double": pa.float64(),
        "bool": pa.bool_(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "list<string>": pa.list_(pa.string()),
        "list<int64>": pa.list_(pa.int64()),
    }
    return pa.schema([pa.field(c.name, types[c.type], nullable=c.nullable) for c in COLUMNS])


def table(label: str, made: Analysis) -> Table:
    """The rows of one session.

    Args:
        label: what they call it.
        made: the session in tokens.

    Returns:
        A `pyarrow.Table` of `schema()`, in the order of the requests.
    """
    import pyarrow as pa

    rows = [_Row(label, made, each, made.costs.get(each.info.index)) for each in made.requests]
    columns = {column.name: [column.value(row) for row in rows] for column in COLUMNS}
    return pa.table(columns, schema=schema())


def _text(text: str | None) -> str | None:
    return None if text is None else storable(text)


def _microseconds(seconds: float | None) -> int | None:
    # A recording of others may hold anything; what is no time of this age is left out.
    if seconds is None or not 0 <= seconds < 1e11:
        return None
    return round(seconds * 1e6)
