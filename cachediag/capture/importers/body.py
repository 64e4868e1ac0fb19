"""One JSON object: a request body, or a log record that holds one."""

from cachediag.capture.importers.reading import HINT, Input, check_json, placed, without_bom
from cachediag.capture.importers.records import exchange_of
from cachediag.capture.masking import Secrets
from cachediag.errors import InputError
from cachediag.session import Source
from cachediag.session.source import numbered

__all__ = ["Body"]


class Body:
    """Reads a file that is one JSON object, as a session of one exchange."""

    def recognises(self, source: Input) -> bool:
        """Tell by an opening brace."""
        return without_bom(source.head()).lstrip().startswith(b"{")

    def read(self, source: Input) -> Source:
        """Read the one body.

        Raises:
            InputError: it is not JSON, or holds no request body.
        """
        document = source.document()
        check_json(document, source.where)
        with placed(source.where):
            exchange = exchange_of(document, Secrets())
        if exchange is None:
            raise InputError(
                "a JSON object, but not a request body: it has no messages",
                where=source.where,
                remedy=HINT,
            )
        return numbered(source.name, [exchange])
