"""omlx: cached tokens in the usage of `/v1/messages` only for requests that carry `cache_control`.

Whether `input_tokens` holds them is not documented. Source: https://github.com/jundot/omlx
(`"owned_by": "omlx"` in `/v1/models`)
"""

from cachediag.backends.kinds.probe import Plain

__all__ = ["PROBE"]

PROBE = Plain("omlx", owner="omlx", messages_sure="estimate", engine="omlx")
