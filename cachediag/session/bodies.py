"""The table of bodies: each distinct body once, byte for byte, as a delta where one is earlier."""

import hashlib
import sqlite3
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, Literal

from cachediag.session.delta import HARD, MAX_DEPTH, Base, Recent, decode, encode, pieces_of

__all__ = ["Bodies", "BodyDamagedError", "Encoded", "Kind"]

Kind = Literal["request", "response"]
"""Requests are encoded against requests, responses against responses."""

_KEPT: Final[dict[Kind, int]] = {"request": 12, "response": 1}
_LATEST: Final[dict[Kind, str]] = {
    "request": "SELECT id, depth FROM bodies WHERE id IN (SELECT request FROM exchanges)"
    " ORDER BY id DESC LIMIT ?",
    "response": "SELECT id, depth FROM bodies WHERE id IN (SELECT response FROM exchanges)"
    " ORDER BY id DESC LIMIT ?",
}
_CACHE_BYTES: Final = 64 << 20
_LONGEST_CHAIN: Final = 4 * MAX_DEPTH
"""Deltas that one body may take to be read, far more than are ever written."""


class BodyDamagedError(Exception):
    """A stored body cannot be read back as it was."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A body ready to be stored; `id` is set where it is stored already."""

    kind: Kind
    body: bytes
    sha256: bytes
    id: int | None = None
    data: bytes = b""
    base: Base | None = None
    """The body it is encoded against; None for a full copy."""
    like: Base | None = None
    """The body it is most like, whether or not it is encoded against it."""
    pieces: dict[int, int] | None = None


class Bodies:
    """Reads and writes the bodies of one session over one connection.

    Bodies are never changed or removed once stored and a base is always stored before what is
    encoded against it, so two processes may add to one file without knowing of each other.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._recent: dict[Kind, Recent] = {}
        self._cache: OrderedDict[int, bytes] = OrderedDict()
        self._cached = 0

    def encode(self, kind: Kind, body: bytes) -> Encoded:
        """Encode a body against the most similar of the latest ones; stores nothing.

        Raises:
            sqlite3.Error: the file cannot be read.
        """
        digest = hashlib.sha256(body).digest()
        stored = self._id_of(digest)
        if stored is not None:
            return Encoded(kind, body, digest, id=stored)
        pieces = _pieces(kind, body)
        like = self._recent_of(kind).choose(pieces)
        base = like if like is not None and like.depth < MAX_DEPTH else None
        data = encode(body, None if base is None else base.body)
        return Encoded(kind, body, digest, data=data, base=base, like=like, pieces=pieces)

    def insert(self, encoded: Encoded) -> int:
        """Store an encoded body inside the transaction that is open, and return its id.

        Raises:
            sqlite3.Error: the file cannot be written.
        """
        if encoded.id is not None:
            return encoded.id
        base = encoded.base
        # Another process may have stored the same bytes since they were encoded.
        cursor = self._connection.execute(
            "INSERT INTO bodies (sha256, size, base, depth, data) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (sha256) DO NOTHING",
            (
                encoded.sha256,
                len(encoded.body),
                None if base is None else base.id,
                _depth(base),
                encoded.data,
            ),
        )
        body_id = cursor.lastrowid if cursor.rowcount else self._id_of(encoded.sha256)
        assert body_id is not None
        return body_id

    def insert_variant(self, body: bytes, request: int | None, sent: bytes) -> int:
        """Store what was made of a request inside the transaction that is open; return its id.

        It is encoded against that request, from which it differs little, and is no base for later
        bodies.

        Args:
            body: the outgoing body.
            request: id of the request it was made from; None where that is empty.
            sent: that request.

        Raises:
            sqlite3.Error: the file cannot be read or written.
        """
        digest = hashlib.sha256(body).digest()
        stored = self._id_of(digest)
        if stored is not None:
            return stored
        base = None if request is None else self._variants_base(request, sent)
        data = encode(body, None if base is None else base.body)
        return self.insert(Encoded("request", body, digest, data=data, base=base))

    def _variants_base(self, request: int, sent: bytes) -> Base | None:
        base, depth = self._connection.execute(
            "SELECT base, depth FROM bodies WHERE id = ?", (request,)
        ).fetchone()
        if depth < MAX_DEPTH or base is None:
            return Base(request, sent, depth, {})
        try:
            return Base(base, self.read(base), depth - 1, {})
        except BodyDamagedError:
            return None

    def committed(self, encoded: Encoded, body_id: int) -> None:
        """Take a body as a base for later ones, now that its transaction has ended."""
        recent = self._recent_of(encoded.kind)
        if recent.find(body_id) is None and encoded.pieces is not None:
            new = Base(body_id, encoded.body, _depth(encoded.base), encoded.pieces)
            recent.add(new, encoded.like)

    def read(self, body_id: int) -> bytes:
        """Return a body as it was stored.

        Raises:
            BodyDamagedError: it, or one it is encoded against, is missing or damaged.
            sqlite3.Error: the file cannot be read.
        """
        chain: list[tuple[int, int, bytes, bytes]] = []
        wanted: int | None = body_id
        body: bytes | None = None
        while wanted is not None:
            body = self._cache.get(wanted)
            if body is not None:
                self._cache.move_to_end(wanted)
                break
            size, digest, base, data = self._row(wanted)
            if base is not None and base >= wanted:
                raise BodyDamagedError(f"body {wanted} is encoded against a later one")
            if len(chain) > _LONGEST_CHAIN:
                raise BodyDamagedError(f"body {body_id} is encoded against too many others")
            chain.append((wanted, size, digest, data))
            wanted = base
        for link, size, digest, data in reversed(chain):
            try:
                body = decode(data, size, body)
            except ValueError as error:
                raise BodyDamagedError(f"body {link}: {error}") from error
            if hashlib.sha256(body).digest() != digest:
                raise BodyDamagedError(f"body {link} has another checksum than recorded")
            self._remember(link, body)
        assert body is not None
        return body

    def recompress(self) -> None:
        """Compress every body harder, inside the transaction that is open.

        Raises:
            BodyDamagedError: a body is missing or damaged.
            sqlite3.Error: the file cannot be written.
        """
        ids = self._connection.execute("SELECT id FROM bodies ORDER BY id").fetchall()
        for (body_id,) in ids:
            body = self.read(body_id)
            _, _, base, data = self._row(body_id)
            harder = encode(body, None if base is None else self.read(base), HARD)
            if len(harder) < len(data):
                self._connection.execute(
                    "UPDATE bodies SET data = ? WHERE id = ?", (harder, body_id)
                )

    def _row(self, body_id: int) -> tuple[int, bytes, int | None, bytes]:
        row = self._connection.execute(
            "SELECT size, sha256, base, data FROM bodies WHERE id = ?", (body_id,)
        ).fetchone()
        if row is None:
            raise BodyDamagedError(f"body {body_id} is missing")
        size, digest, base, data = row
        if not (
            isinstance(size, int)
            and isinstance(digest, bytes)
            and isinstance(base, int | None)
            and isinstance(data, bytes)
        ):
            raise BodyDamagedError(f"body {body_id} has a field of another type than recorded")
        return size, digest, base, data

    def _id_of(self, digest: bytes) -> int | None:
        row = self._connection.execute(
            "SELECT id FROM bodies WHERE sha256 = ?", (digest,)
        ).fetchone()
        return None if row is None else int(row[0])

    def _remember(self, body_id: int, body: bytes) -> None:
        self._cache[body_id] = body
        self._cached += len(body)
        while self._cached > _CACHE_BYTES and len(self._cache) > 1:
            self._cached -= len(self._cache.popitem(last=False)[1])

    def _recent_of(self, kind: Kind) -> Recent:
        """Return the latest bodies of a kind; at first, those that the file already holds."""
        if kind not in self._recent:
            recent = self._recent[kind] = Recent(_KEPT[kind])
            rows = self._connection.execute(_LATEST[kind], (_KEPT[kind],)).fetchall()
            for body_id, depth in reversed(rows):
                try:
                    body = self.read(body_id)
                except BodyDamagedError:
                    continue  # a full copy costs little; refusing to record costs the session
                recent.add(Base(body_id, body, depth, _pieces(kind, body)))
        return self._recent[kind]


def _pieces(kind: Kind, body: bytes) -> dict[int, int]:
    # Responses share their framing, not their text: the latest one is as good a base as any.
    return pieces_of(body) if kind == "request" else {}


def _depth(base: Base | None) -> int:
    return 0 if base is None else base.depth + 1
