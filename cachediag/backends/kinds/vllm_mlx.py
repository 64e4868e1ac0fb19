"""vllm-mlx: no cached tokens in its usage up to 0.6.0; counters of hits, and lines in its log.

Read in the released packages and held against them by the live tests. Source:
https://pypi.org/project/vllm-mlx/

The version in `/openapi.json` is behind the release in some (0.2.6 to 0.2.9 say 0.2.1, 0.5.0 and
0.6.0 say 0.4.1), so a release is told by that together with what its API is made of.
"""

import json
import re
from dataclasses import dataclass
from hashlib import sha256

from cachediag.backends.asking import Response
from cachediag.backends.kinds.probe import (
    Plain,
    Reading,
    Recognised,
    Responses,
    Sure,
    dig,
    owners,
    usage_reading,
    version,
)
from cachediag.model import Endpoint, Json
from cachediag.protocol.response import count

__all__ = ["PROBE", "api_digest"]

_RELEASES = {
    ("0.2.1", "a122111df14c"): "0.2.6",
    ("0.2.1", "3b850e5eaea7"): "0.2.8",
    ("0.2.1", "974b4a46b204"): "0.2.9",
    ("0.3.0", "17d91fad352a"): "0.3.0",
    ("0.4.0", "666203bf05a2"): "0.4.0",
    ("0.4.1", "666203bf05a2"): "0.4.1",
    ("0.4.1", "9148f4574e96"): "0.5.0",
    ("0.4.1", "ba9ad9c4cf9d"): "0.6.0",
}
"""By the version that the API states and the digest of what it is made of."""

_API, _STATUS, _STATS = "/openapi.json", "/v1/status", "/v1/cache/stats"
_TITLE = "vllm-mlx API"
_VARIANTS = {"simple": "SimpleEngine", "batched": "BatchedEngine"}
_FRAMEWORKS = ("HTTPValidationError", "ValidationError")

_LOOKED_UP = re.compile(
    r"System KV cache (?:"
    r"(?P<hit>HIT)\b[^\n]{0,400}?reusing (?P<reused>\d{1,15}) tokens, prefilling"
    r" (?P<new>\d{1,15}) new"
    r"|MISS\b[^\n]{0,400}?will prefill (?P<system>\d{1,15}) system \+ (?P<suffix>\d{1,15}) suffix"
    r")"
)


def api_digest(document: Json) -> str:
    """What an API is made of: its paths with their methods, and the fields of its objects.

    What the web framework adds of its own is left out, for it differs with the framework's release.
    """
    components = document.get("components") or {}
    objects = {
        name: sorted(schema.get("properties") or {})
        for name, schema in (components.get("schemas") or {}).items()
        if name not in _FRAMEWORKS
    }
    paths = {path: sorted(methods) for path, methods in (document.get("paths") or {}).items()}
    return sha256(json.dumps([paths, objects], sort_keys=True).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class _VllmMlx(Plain):
    """Recognised by `owned_by`, and by the title of its API."""

    def recognise(self, responses: Responses) -> Recognised | None:
        """The release is exact where what the API is made of is known."""
        titled = dig(responses, _API, "info", "title") == _TITLE
        if not titled and self.name not in owners(responses):
            return None
        found, sure = _release(responses) if titled else (None, "exact")
        profile = f"vllm-mlx@{found}" if found and re.fullmatch(r"\d+\.\d+\.\d+", found) else None
        kind = dig(responses, "/health", "engine_type")
        if kind is None and dig(responses, _STATUS, "status") == "stopped":
            # 0.2.8 and 0.2.9 do not say, but their simple engine never counts as running.
            kind = "simple"
        variant = _VARIANTS.get(kind, version(kind)) if isinstance(kind, str) else None
        return Recognised(
            kind=self.name,
            version=found,
            version_sure=sure,
            variant=variant,
            sure="exact",
            evidence="the title of its API" if titled else '"owned_by": "vllm-mlx" in /v1/models',
            profile=profile or self.name,
            # The batching engine has a cache of prefixes of its own; a tree bounds what it can do.
            engine="sglang" if kind == "batched" else None,
        )

    def read_usage(
        self, recognised: Recognised, endpoint: Endpoint, content_type: str | None, body: bytes
    ) -> Reading | None:
        """The field where it is there; a release that has no cache for text took nothing."""
        told = usage_reading(endpoint, content_type, body, self.messages)
        if told is not None or not _keeps_nothing(recognised):
            return told
        source = f"vllm-mlx {recognised.version}, which keeps no cache for text"
        return Reading(cached=0, sure=recognised.version_sure, source=source)

    def read_counters(self, before: Response, after: Response) -> Reading | None:
        """A miss, or a request that was not looked up, took nothing; of a hit, not how much."""
        was, now = _counts(before), _counts(after)
        if was is None or now is None:
            return None
        hits, misses = (now[name] - was[name] for name in ("hits", "misses"))
        if hits < 0 or misses < 0 or hits + misses > 1:
            # The server was restarted, or another client was served between.
            return None
        return Reading(cached=None if hits else 0, source=f"counters of {_STATS}")

    def read_log(self, text: str) -> Reading | None:
        """The line of the lookup; None where there is none, or more than one."""
        found = list(_LOOKED_UP.finditer(text))
        if len(found) != 1:
            return None
        line = found[0]
        if line["hit"]:
            cached, prefilled = int(line["reused"]), int(line["new"])
        else:
            cached, prefilled = 0, int(line["system"]) + int(line["suffix"])
        return Reading(cached=cached, prefilled=prefilled, source="log")


def _release(responses: Responses) -> tuple[str | None, Sure]:
    document = dig(responses, _API)
    stated = version(dig(responses, _API, "info", "version"))
    try:
        known = _RELEASES.get((stated or "", api_digest(document)))
    except (AttributeError, TypeError):
        known = None
    return (known, "exact") if known else (stated, "estimate")


def _keeps_nothing(recognised: Recognised) -> bool:
    if recognised.version is None or recognised.variant != _VARIANTS["simple"]:
        return False
    return tuple(int(part) for part in re.findall(r"\d+", recognised.version)[:2]) < (0, 4)


def _counts(stats: Response) -> dict[str, int] | None:
    counts = stats.json
    for name in ("engine_cache", "system_kv_cache", "counters"):
        counts = counts.get(name) if isinstance(counts, dict) else None
    hits, misses = count(counts, "hits"), count(counts, "misses")
    if hits is None or misses is None:
        return None
    return {"hits": hits, "misses": misses}


PROBE = _VllmMlx("vllm-mlx", paths=(_API, _STATUS), counters=_STATS, owner="vllm-mlx")
