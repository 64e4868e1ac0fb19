"""LM Studio: cached tokens nowhere; only time tells.

Source: https://lmstudio.ai/docs/api/rest-api and
https://raw.githubusercontent.com/lmstudio-ai/docs/main/1_developer/2_rest/endpoints.mdx
(`/api/v0/models`, whose entries have `compatibility_type`)
"""

from dataclasses import dataclass

from cachediag.backends.kinds.probe import Plain, Recognised, Responses, dig

__all__ = ["PROBE"]


@dataclass(frozen=True, slots=True)
class _LmStudio(Plain):
    def recognise(self, responses: Responses) -> Recognised | None:
        """By the models of its own API."""
        listed = dig(responses, "/api/v0/models", "data")
        entries = listed if isinstance(listed, list) else []
        if not any(isinstance(entry, dict) and "compatibility_type" in entry for entry in entries):
            return None
        return self.recognised("compatibility_type in /api/v0/models")


PROBE = _LmStudio(
    "lm-studio", paths=("/api/v0/models",), messages_sure="estimate", engine="lm-studio"
)
