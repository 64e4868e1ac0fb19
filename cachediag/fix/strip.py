"""The mitmproxy addon that applies rules to requests on their way to the server.

Whatever goes wrong, a request goes on as it came: a prefix that breaks costs time, a request that
is lost costs the user's work.
"""

from collections.abc import Callable

from mitmproxy import http

from cachediag.capture.encoding import EncodingError, decode
from cachediag.errors import CachediagError
from cachediag.fix.tally import Tally
from cachediag.protocol.endpoint import endpoint_of
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.engine.pins import Pins
from cachediag.rules.protocols import protocol_of
from cachediag.rules.rule import RuleSet

__all__ = ["Strip"]


class Strip:
    """Applies rules to every request to a model that passes.

    A recorder stands before it, so as to see what the client sent.

    Args:
        rules: gives the rules to apply now; asked for each request.
        tell: told once of each kind of trouble.
        tally: counts what was changed.
        guest: run in a mitmproxy that serves other purposes too. Responses to other requests are
            then left as they are.
    """

    def __init__(
        self,
        rules: Callable[[], RuleSet],
        *,
        tell: Callable[[str], None],
        tally: Tally,
        guest: bool = False,
    ) -> None:
        self._rules = rules
        self._tell = tell
        self._tally = tally
        self._guest = guest
        # What a conversation said first stays so, even where the rules are read again.
        self._pins = Pins()
        self._told: set[type[Exception]] = set()

    def request(self, flow: http.HTTPFlow) -> None:
        """Put what the rules make of the body in its place."""
        protocol = _protocol(flow)
        if protocol is None or not flow.request.raw_content:
            return
        try:
            self._apply(flow.request, protocol)
        except Exception as error:  # noqa: BLE001 - no trouble here may cost the client its request
            self._warn(error)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Have the response passed through live, unless another addon sees to that."""
        if flow.response is not None and not (self._guest and _protocol(flow) is None):
            flow.response.stream = flow.response.stream or True

    def _apply(self, request: http.Request, protocol: str) -> None:
        sent = request.raw_content or b""
        encoding = request.headers.get("content-encoding", "")
        body = decode(encoding, sent) if encoding else sent
        applied = apply_rules(body, protocol, self._rules().enabled, self._pins)
        if applied.changes:
            # Encoding it again would cost time, and every server reads a plain body.
            request.headers.pop("content-encoding", None)
            request.content = applied.body
        self._tally.add(applied)

    def _warn(self, error: Exception) -> None:
        if type(error) not in self._told:
            self._told.add(type(error))
            self._tell(f"{_reason(error)}; such requests go on as they came")


def _protocol(flow: http.HTTPFlow) -> str | None:
    if flow.request.method != "POST":
        return None
    path = flow.request.path
    return protocol_of(endpoint_of(path), path)


def _reason(error: Exception) -> str:
    if isinstance(error, CachediagError | EncodingError):
        return f"a request cannot be read: {error}"
    # The message may quote the request.
    return f"rules could not be applied ({type(error).__name__})"
