"""What may be kept of headers, paths and messages, and what never is.

Headers and query parameters are kept by allow-list, so that a credential under a name nobody
thought of is left out too. Bodies are kept byte for byte, with one exception: a credential that
this recorder has itself seen being used is masked wherever it turns up in a body, because an agent
that ran `env`, or an upstream that echoes the key, has put it there.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote, urlsplit, urlunsplit

from cachediag.capture.masking import MIN_LENGTH, Secrets, places

__all__ = [
    "body_credentials",
    "credentials",
    "safe_headers",
    "safe_path",
    "safe_url",
    "scrub",
]

REDACTED = "redacted"

_HEADERS = frozenset(
    {
        # What the body is.
        "content-type",
        "content-encoding",
        "accept",
        "accept-encoding",
        # Which client and protocol version; `anthropic-beta` changes how a prompt is cached.
        "user-agent",
        "anthropic-version",
        "anthropic-beta",
        "openai-beta",
        "openai-version",
        "x-app",
        "x-stainless-lang",
        "x-stainless-package-version",
        "x-stainless-runtime",
        # A retry sends the same prompt again and is not a cache miss of the client's making.
        "x-stainless-retry-count",
        # What the server says of the exchange.
        "request-id",
        "x-request-id",
        "openai-processing-ms",
        "server",
        "retry-after",
    }
)
_PREFIXES = ("x-claude-code-", "anthropic-ratelimit-", "x-ratelimit-")
_CREDENTIAL_NAME = re.compile(
    r"auth(?!ority)|token|key|secret|cookie|passw|credential|signature", re.IGNORECASE
)
_RATE_LIMIT = re.compile(r"(?:anthropic|x)-ratelimit-")

_QUERY_KEYS = frozenset({"beta", "api-version", "stream"})
# A kept value is a flag or a version; anything longer or stranger is not what the key promises.
_QUERY_VALUE = re.compile(r"[A-Za-z0-9._-]{1,32}")

_PATTERNS = (
    (re.compile(r"(://)[^/\s@]+@"), r"\1"),
    (re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf)[-_][\w-]{8,}"), REDACTED),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1 {REDACTED}"),
    (
        re.compile(
            r"((?:api[-_]?key|token|secret|password)[\"']?\s*[=:]\s*[\"']?)[^\s\"'&]{6,}",
            re.IGNORECASE,
        ),
        rf"\1{REDACTED}",
    ),
)

# Fields of a request body that hold a credential by their meaning: a remote MCP server's token in
# the Anthropic protocol, its headers in the OpenAI one, a gateway's key. Inside a string the quotes
# are escaped, so text that merely looks alike does not match. The names are looked up afterwards:
# a pattern that spells them out and ignores case takes twice as long on a large body.
# Nothing is given back once it is taken, or each character of a long text would cost memory.
_BODY_FIELD = re.compile(rb'"([aAxX][\w-]{6,18})"\s*+:\s*+"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_BODY_NAMES = frozenset(
    {b"authorization_token", b"authorization", b"api_key", b"api-key", b"x-api-key"}
)


def _allowed(name: str) -> bool:
    if name in _HEADERS:
        return True
    # `anthropic-ratelimit-input-tokens-limit` counts tokens, it holds none.
    return name.startswith(_PREFIXES) and (
        _RATE_LIMIT.match(name) is not None or not _CREDENTIAL_NAME.search(name)
    )


def safe_headers(
    headers: Iterable[tuple[str, str]], secrets: Sequence[Secrets] = ()
) -> dict[str, str]:
    """Keep the allow-listed headers.

    Args:
        headers: name and value pairs as they came; a name may repeat.
        secrets: credentials that no kept value may contain.

    Returns:
        Values by lower-case name; repeated headers are joined with a comma.
    """
    kept: dict[str, str] = {}
    for raw_name, value in headers:
        name = raw_name.lower()
        if _allowed(name):
            clean = scrub(value, secrets)
            kept[name] = f"{kept[name]}, {clean}" if name in kept else clean
    return kept


def safe_path(path: str) -> str:
    """Redact a request target: query values that are not allow-listed, and userinfo.

    Args:
        path: path with query, or an absolute URL.

    Returns:
        The same target, each value that is not allow-listed written as `redacted`.
    """
    target, _, query = path.partition("#")[0].partition("?")
    target = scrub(target, ())
    if not query:
        return target
    return f"{target}?{'&'.join(_safe_parameter(part) for part in query.split('&'))}"


def _safe_parameter(part: str) -> str:
    key, equals, value = part.partition("=")
    if key in _QUERY_KEYS and (not equals or _QUERY_VALUE.fullmatch(value)):
        return part
    return f"{scrub(key, ())}={REDACTED}" if equals else REDACTED


def safe_url(url: str) -> str:
    """Remove the userinfo of a URL, and redact its query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return scrub(url, ())
    netloc = parts.netloc.rpartition("@")[2]
    return safe_path(urlunsplit((parts.scheme, netloc, parts.path, parts.query, "")))


def credentials(headers: Iterable[tuple[str, str]], path: str) -> tuple[str, ...]:
    """Collect the credentials that a message carries in its headers and its target.

    Args:
        headers: name and value pairs, of a request or of a response.
        path: the request target as sent.

    Returns:
        Values of at least 12 characters, longest first, so that replacing them in order leaves no
        part of one behind.
    """
    found: set[str] = set()
    for raw_name, value in headers:
        name = raw_name.lower()
        if _allowed(name) or not _CREDENTIAL_NAME.search(name):
            continue
        if name == "set-cookie":
            # What follows are attributes: a date, a domain.
            found.update(_cookie_values(value.partition(";")[0]))
        elif name == "cookie":
            found.update((value, *_cookie_values(value)))
        else:
            found.update((value, *_scheme_values(value)))
    found.update(_url_values(path))
    return _sized(found)


def _sized(values: Iterable[str]) -> tuple[str, ...]:
    stripped = {value.strip() for value in values}
    return tuple(sorted((v for v in stripped if len(v) >= MIN_LENGTH), key=lambda v: (-len(v), v)))


def _cookie_values(value: str) -> list[str]:
    return [part.partition("=")[2].strip('" ') for part in value.split(";")]


def _scheme_values(value: str) -> list[str]:
    scheme, _, token = value.partition(" ")
    if scheme.lower() != "basic":
        return [token]
    try:
        pair = base64.b64decode(token, validate=True).decode()
    except (binascii.Error, ValueError):
        return [token]
    return [token, pair, pair.partition(":")[2]]


def _url_values(path: str) -> list[str]:
    target, _, query = path.partition("?")
    userinfo = target.partition("://")[2].partition("/")[0].rpartition("@")[0]
    found = [userinfo, unquote(userinfo.partition(":")[2])]
    for part in query.split("&"):
        if _safe_parameter(part) != part:
            value = part.partition("=")[2] or part
            found += [value, unquote(value)]
    return found


def body_credentials(body: bytes) -> tuple[str, ...]:
    """Collect the credentials that a request body holds in fields made for them.

    Args:
        body: a JSON request body; anything else has none.

    Returns:
        Values as they are written in the body, longest first.
    """
    found: set[str] = set()
    for match in _BODY_FIELD.finditer(body):
        if match[1].lower() in _BODY_NAMES:
            value = match[2].decode(errors="replace")
            found.update((value, *_scheme_values(value)))
    return _sized(found)


def scrub(text: str, secrets: Sequence[Secrets]) -> str:
    """Remove credentials from text that is about to be kept or shown.

    Args:
        text: an error message, a header value, a path.
        secrets: known credentials.

    Returns:
        The text with the given credentials, and whatever looks like one, written as `redacted`.
    """
    if secrets:
        text = _without(text, secrets)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def _without(text: str, secrets: Sequence[Secrets]) -> str:
    data = text.encode("utf-8", "surrogatepass")
    kept: list[bytes] = []
    end = 0
    for start, stop in places(data, secrets):
        kept += (data[end:start], REDACTED.encode())
        end = stop
    return b"".join((*kept, data[end:])).decode("utf-8", "surrogatepass")
