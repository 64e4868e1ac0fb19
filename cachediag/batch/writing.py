"""Parquet files of many rows: private, in place only once they are whole."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from cachediag.batch.model import Counted, Outcome, Table
from cachediag.batch.rows import schema
from cachediag.errors import UsageError
from cachediag.extras import need

__all__ = ["GROUP_ROWS", "PART_ROWS", "RowFile"]

GROUP_ROWS: Final = 1 << 16
"""Rows of a row group: so many are held in memory."""
PART_ROWS: Final = 1 << 20
"""Rows of a file, where a folder of them is written."""
_SUFFIXES: Final = (".parquet", ".pq")


class RowFile:
    """Takes rows in their order and writes them to one Parquet file, or to a folder of parts.

    What is written depends on the rows alone, not on how they are given. Used as a context
    manager: when that ends well the file or folder is there, else nothing is.

    Args:
        path: the file, if its suffix is `.parquet` or `.pq`; else the folder.
        group_rows: rows of a row group.
        part_rows: rows of a part, a multiple of them.

    Raises:
        UsageError: it is there already, it cannot be written, or pyarrow is missing.
    """

    def __init__(
        self, path: Path, *, group_rows: int = GROUP_ROWS, part_rows: int = PART_ROWS
    ) -> None:
        need("pyarrow", "fleet", f"-o {path}")
        self._path = path
        self._is_file = path.suffix.lower() in _SUFFIXES
        self._group_rows, self._part_rows = group_rows, part_rows
        self._waiting: list[Table] = []
        self._held = 0
        self._written = 0
        self._writer: Any = None
        self._file: Any = None
        if path.exists():
            raise UsageError("is there already", where=str(path), remedy="Give another: -o FILE")
        with self._explained():
            # Beside its place, so that it can be moved there in one step; nobody else's to read.
            made = tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent)
        self._directory = Path(made)

    def add(self, outcome: Outcome) -> None:
        """Take the rows of the next session; one that failed has none.

        Raises:
            UsageError: they cannot be written.
        """
        rows = outcome.rows if isinstance(outcome, Counted) else None
        if rows is not None and rows.num_rows:
            self._waiting.append(rows)
            self._held += rows.num_rows
        while self._held >= self._group_rows:
            self._write(self._group_rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            # Whole or not, it is of no use where this is still open.
            with suppress(OSError):
                if self._writer is not None:
                    self._writer.close()
                if self._file is not None:
                    self._file.close()
            shutil.rmtree(self._directory, ignore_errors=True)

    def _finish(self) -> None:
        # A table without rows has its columns all the same.
        if self._held or not self._written:
            self._write(self._held)
        self._close_part()
        with self._explained():
            made = self._part(0) if self._is_file else self._directory
            made.replace(self._path)

    def _write(self, count: int) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        whole = pa.concat_tables(self._waiting) if self._waiting else schema().empty_table()
        group, rest = whole.slice(0, count).combine_chunks(), whole.slice(count)
        self._waiting, self._held = ([rest] if rest.num_rows else []), rest.num_rows
        with self._explained():
            if self._writer is None:
                self._open_part(pq)
            self._writer.write_table(group, row_group_size=self._group_rows)
        self._written += count
        if not self._is_file and self._written % self._part_rows == 0:
            self._close_part()

    def _open_part(self, pq: Any) -> None:
        path = self._part(0 if self._is_file else self._written // self._part_rows)
        self._file = os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")
        self._writer = pq.ParquetWriter(self._file, schema(), compression="zstd")

    def _close_part(self) -> None:
        if self._writer is None:
            return
        with self._explained():
            self._writer.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        self._writer = self._file = None

    def _part(self, number: int) -> Path:
        return self._directory / f"part-{number:05}.parquet"

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise UsageError(
                f"cannot be written ({why})", where=str(self._path), remedy="Give another: -o FILE"
            ) from error
