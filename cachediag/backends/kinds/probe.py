"""What a backend must say of itself: the role that each file of this package fills."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from cachediag.backends.asking import Response
from cachediag.model import Endpoint, Json
from cachediag.protocol.response import read_response

__all__ = [
    "Accounting",
    "Plain",
    "Probe",
    "Reading",
    "Recognised",
    "Responses",
    "Sure",
    "counted",
    "dig",
    "owners",
    "usage_reading",
    "version",
]

Responses = Mapping[str, Response]
"""What a server answered, by path."""

Sure = Literal["exact", "estimate"]
"""`exact`: the server says so. `estimate`: inferred."""

Accounting = Literal["inclusive", "disjoint"]
"""Whether the prompt tokens that a usage reports hold the cached ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognised:
    """A backend that was recognised."""

    kind: str
    """The name of its probe."""
    version: str | None = None
    """None where it does not say."""
    variant: str | None = None
    """Which of its engines runs, where it has several."""
    sure: Sure
    """Of the kind."""
    version_sure: Sure = "exact"
    evidence: str
    """What it was recognised by."""
    profile: str = "generic"
    """What `--profile` counts its prompts by."""
    engine: str | None = None
    """What `--engine` is its cache; None for that of the profile."""

    def __str__(self) -> str:
        version = f" {self.version}" if self.version else ""
        unsure = self.sure == "estimate" or bool(version and self.version_sure == "estimate")
        name = f"{'probably ' if unsure else ''}{self.kind}{version}"
        return f"{name}, {self.variant}" if self.variant else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a backend tells of one request. None is absent, which is not zero."""

    cached: int | None = None
    """Prompt tokens that came out of a cache."""
    prefilled: int | None = None
    """Prompt tokens that did not."""
    sure: Sure = "exact"
    source: str
    """Where it was read, such as `usage.cache_read_input_tokens`."""

    @property
    def prompt(self) -> int | None:
        """Tokens of the whole prompt."""
        if self.cached is None or self.prefilled is None:
            return None
        return self.cached + self.prefilled


class Probe(Protocol):
    """How one kind of backend is recognised, and where it tells of cached tokens."""

    @property
    def name(self) -> str:
        """The kind."""
        ...

    @property
    def paths(self) -> tuple[str, ...]:
        """What to ask for beside `/v1/models` and `/health`."""
        ...

    @property
    def counters(self) -> str | None:
        """The path of counters to read before and after a request; None where there are none."""
        ...

    def recognise(self, responses: Responses) -> Recognised | None:
        """Recognise a backend by what it answered; paths that were not asked yet are missing."""
        ...

    def read_usage(
        self, recognised: Recognised, endpoint: Endpoint, content_type: str | None, body: bytes
    ) -> Reading | None:
        """What a response tells; None where it says nothing of cached tokens.

        Args:
            recognised: the backend, by whose version the fields may differ.
            endpoint: what was called.
            content_type: the response's.
            body: the whole response, JSON or an SSE stream, its content-encoding undone.
        """
        ...

    def read_counters(self, before: Response, after: Response) -> Reading | None:
        """What the counters tell of the one request between two readings of them.

        Args:
            before: the answer at `counters` before the request.
            after: the same behind it. Other clients' requests may have been counted meanwhile.
        """
        ...

    def read_log(self, text: str) -> Reading | None:
        """What the server's log tells of one request.

        Args:
            text: what was logged since before the request.
        """
        ...


@dataclass(frozen=True, slots=True)
class Plain:
    """What most probes share; a kind overrides where it differs."""

    name: str
    paths: tuple[str, ...] = ()
    counters: str | None = None
    messages: Accounting = "disjoint"
    """How `/v1/messages` counts; the OpenAI protocols always count inclusively."""
    messages_sure: Sure = "exact"
    owner: str | None = None
    """What `owned_by` says in its list of models."""
    version_at: tuple[str, ...] = ()
    """Where its version stands: the path of a document, and the keys in it."""
    profile: str = "generic"
    engine: str | None = field(default=None)

    def recognise(self, responses: Responses) -> Recognised | None:
        """By `owned_by` in the list of models."""
        if self.owner is None or self.owner not in owners(responses):
            return None
        found = version(dig(responses, *self.version_at)) if self.version_at else None
        return self.recognised(f'"owned_by": "{self.owner}" in /v1/models', found)

    def recognised(
        self, evidence: str, found: str | None = None, sure: Sure = "exact"
    ) -> Recognised:
        """The kind with a version."""
        return Recognised(
            kind=self.name,
            version=found,
            sure=sure,
            evidence=evidence,
            profile=self.profile,
            engine=self.engine,
        )

    def read_usage(
        self,
        recognised: Recognised,  # noqa: ARG002 - what others go by
        endpoint: Endpoint,
        content_type: str | None,
        body: bytes,
    ) -> Reading | None:
        """The protocol's own field of cached tokens."""
        return usage_reading(endpoint, content_type, body, self.messages, self.messages_sure)

    def read_counters(self, before: Response, after: Response) -> Reading | None:  # noqa: ARG002
        """Nothing."""
        return None

    def read_log(self, text: str) -> Reading | None:  # noqa: ARG002
        """Nothing."""
        return None


def counted(cached: int | None, prefilled: int | None = None, *, alone: bool = False) -> Reading:
    """What the counters at `/metrics` tell.

    Args:
        cached: tokens taken out of a cache between the readings.
        prefilled: tokens that were not.
        alone: they count one request and no other.
    """
    return Reading(
        cached=cached,
        prefilled=prefilled,
        sure="exact" if alone else "estimate",
        source="counters of /metrics",
    )


_SOURCES: dict[Endpoint, str] = {
    "messages": "usage.cache_read_input_tokens",
    "chat": "usage.prompt_tokens_details.cached_tokens",
    "responses": "usage.input_tokens_details.cached_tokens",
}


def usage_reading(
    endpoint: Endpoint,
    content_type: str | None,
    body: bytes,
    messages: Accounting,
    messages_sure: Sure = "exact",
) -> Reading | None:
    """The cached tokens in a response's usage; None where the field is absent.

    Args:
        endpoint: what was called.
        content_type: the response's.
        body: the whole response.
        messages: how `/v1/messages` counts on this backend.
        messages_sure: whether that is known.
    """
    usage = read_response(endpoint, content_type, body).usage
    if usage is None or usage.cache_read is None:
        return None
    accounting = messages if endpoint == "messages" else "inclusive"
    prefilled = usage.input_tokens
    if prefilled is not None:
        if accounting == "inclusive":
            # Where it says fewer than were cached it does not count so.
            prefilled = prefilled - usage.cache_read if prefilled >= usage.cache_read else None
        else:
            prefilled += usage.cache_creation or 0
    return Reading(
        cached=usage.cache_read,
        prefilled=prefilled,
        sure=messages_sure if endpoint == "messages" else "exact",
        source=_SOURCES[endpoint],
    )


def owners(responses: Responses) -> frozenset[str]:
    """Every `owned_by` in a server's list of models."""
    listed = dig(responses, "/v1/models", "data")
    entries = listed if isinstance(listed, list) else []
    named = (entry.get("owned_by") for entry in entries if isinstance(entry, dict))
    return frozenset(owner for owner in named if isinstance(owner, str))


def dig(responses: Responses, path: str, *keys: str) -> Json:
    """A value in a document that was asked for; None where any of it is missing."""
    value = responses[path].json if path in responses else None
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def version(value: Json) -> str | None:
    """A version that a server states, as far as it looks like one; it is untrusted text."""
    found = re.fullmatch(r"v?([\w.+-]{1,40})", value) if isinstance(value, str) else None
    return found[1] if found else None
