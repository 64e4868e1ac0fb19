"""A callback of LiteLLM's proxy that applies rules to the requests that it is about to route."""

import json
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from cachediag.protocol.endpoint import endpoint_of_body
from cachediag.rules.exports.scripts.common import applied, is_ruled, warn

__all__ = ["CachediagRules", "cachediag_rules"]

# LiteLLM puts objects of its own beside these; the model and the words tell conversations apart.
_FIELDS = ("model", "system", "instructions", "tools", "functions", "messages", "input")
_PROTOCOLS = {
    "completion": "chat",
    "acompletion": "chat",
    "anthropic_messages": "messages",
    "responses": "responses",
    "aresponses": "responses",
}


class CachediagRules(CustomLogger):
    """Changes the prompt of a request before LiteLLM chooses where it goes."""

    async def async_pre_call_hook(
        self,
        user_api_key_dict: object,  # noqa: ARG002 - as LiteLLM calls it
        cache: object,  # noqa: ARG002
        data: dict[str, Any],
        call_type: str,
    ) -> dict[str, Any]:
        """Apply the rules; LiteLLM goes on with what is returned."""
        try:
            _rewrite(data, call_type)
        except Exception as error:  # noqa: BLE001 - whatever is wrong, the request goes on
            warn(error)
        return data


def _rewrite(data: dict[str, Any], call_type: str) -> None:
    fields = {name: data[name] for name in _FIELDS if name in data}
    protocol = _PROTOCOLS.get(call_type, "other")
    if call_type == "pass_through_endpoint":
        # Nothing but its body tells what it is.
        protocol = endpoint_of_body(fields)
    if not is_ruled(protocol):
        return
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    body = text.encode("utf-8", "surrogatepass")
    changed = applied(body, protocol)
    if changed is body:
        return
    after = json.loads(changed.decode("utf-8", "surrogatepass"))
    for name in fields:
        if name in after:
            data[name] = after[name]
        else:
            del data[name]


cachediag_rules = CachediagRules()
