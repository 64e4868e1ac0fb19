"""The rows of the table of exchanges."""

import json
from dataclasses import asdict, astuple, fields
from typing import Any, Final

import msgspec

from cachediag.model import ExchangeInfo, Json, Usage

__all__ = ["INSERT", "info_of", "row_of", "selecting", "storable"]

_COUNTS: Final = {field.name for field in fields(Usage)}
_COLUMNS: Final = (
    "endpoint, method, path, started, first_byte, first_token, ended, status, model,"
    " response_model, usage, headers, response_headers, notes, error"
)
INSERT: Final = (
    f"INSERT INTO exchanges (number, {_COLUMNS}, request, response, outgoing)"  # noqa: S608
    " VALUES ((SELECT COALESCE(MAX(number) + 1, 0) FROM exchanges),"
    " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def selecting(version: int) -> str:
    """Return the statement that reads exchanges: those from a number on, and at most so many.

    Args:
        version: of the session's format; in the first one nothing is known of outgoing bodies.
    """
    outgoing = "outgoing" if version > 1 else "NULL"
    return (
        f"SELECT number, {_COLUMNS},"  # noqa: S608
        " COALESCE((SELECT size FROM bodies WHERE id = request), 0),"
        " COALESCE((SELECT size FROM bodies WHERE id = response), 0),"
        f" (SELECT size FROM bodies WHERE id = {outgoing}), request, response, {outgoing}"
        " FROM exchanges WHERE number >= ? ORDER BY number LIMIT ?"
    )


def row_of(info: ExchangeInfo) -> tuple[object, ...]:
    """Return an exchange's values for `INSERT`, without the ids of its bodies."""
    usage = info.usage and {
        key: value for key, value in asdict(info.usage).items() if value is not None
    }
    return (
        info.endpoint,
        storable(info.method),
        storable(info.path),
        info.started,
        info.first_byte,
        info.first_token,
        info.ended,
        info.status,
        info.model and storable(info.model),
        info.response_model and storable(info.response_model),
        None if usage is None else json.dumps(usage),
        json.dumps(dict(info.headers)),
        json.dumps(dict(info.response_headers)),
        json.dumps(info.notes),
        info.error and storable(info.error),
    )


def info_of(row: tuple[Any, ...]) -> ExchangeInfo:
    """Return the exchange of a row that `selecting` gave.

    Raises:
        ValueError: the row holds what `row_of` never wrote.
    """
    try:
        info = msgspec.convert(_told(row), ExchangeInfo)
    except (msgspec.ValidationError, TypeError) as error:
        raise ValueError(str(error)) from error
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    if info.usage and any(count < 0 for count in astuple(info.usage) if count is not None):
        raise ValueError("a count of tokens is negative")
    return info


def _told(row: tuple[Any, ...]) -> dict[str, Json]:
    """What a row says, of whatever types."""
    usage = None if row[11] is None else json.loads(row[11])
    if isinstance(usage, dict) and not usage.keys() <= _COUNTS:
        raise ValueError("its usage has a count of another name")
    return {
        "index": row[0],
        "endpoint": row[1],
        "method": row[2],
        "path": row[3],
        "started": row[4],
        "first_byte": row[5],
        "first_token": row[6],
        "ended": row[7],
        "status": row[8],
        "model": row[9],
        "response_model": row[10],
        "usage": usage,
        "headers": json.loads(row[12]),
        "response_headers": json.loads(row[13]),
        "notes": json.loads(row[14]),
        "error": row[15],
        "request_size": row[16],
        "response_size": row[17],
        "outgoing_size": row[18],
    }


def storable(text: str) -> str:
    """Return text that SQLite can hold: lone surrogates become escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
