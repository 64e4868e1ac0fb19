"""A mitmproxy addon that applies rules to the requests that pass through."""

from mitmproxy.http import HTTPFlow

from cachediag.rules.exports.scripts.common import applied, protocol_at, warn

__all__ = ["CachediagRules", "addons"]


class CachediagRules:
    """Changes requests to a model server; their responses pass as they come."""

    def request(self, flow: HTTPFlow) -> None:
        """Apply the rules to a request that is there in full."""
        protocol = _protocol(flow)
        if protocol is None or flow.request.raw_content is None:
            return
        try:
            body = flow.request.get_content(strict=True)
        except ValueError as error:
            warn(error)
            return
        changed = applied(body or b"", protocol)
        if changed is not body:
            flow.request.content = changed

    def responseheaders(self, flow: HTTPFlow) -> None:
        """Let a stream of events through as it comes."""
        if flow.response is not None and _protocol(flow) is not None:
            flow.response.stream = flow.response.stream or True


def _protocol(flow: HTTPFlow) -> str | None:
    return protocol_at(flow.request.path) if flow.request.method == "POST" else None


addons = [CachediagRules()]
