"""The name that requests give a server's model, which need not be the recorded one."""

import shlex
from collections.abc import Iterable

from cachediag.backends.asking import get, is_near
from cachediag.errors import UsageError
from cachediag.model import Json

__all__ = ["model_name"]


def model_name(base_url: str, recorded: Iterable[str | None]) -> str | None:
    """What to ask for.

    Args:
        base_url: the server's; one that is not near is not asked for its models.
        recorded: the models that the session's requests ask for.

    Returns:
        The one model that the server lists; None where the recorded names do, or it lists none.

    Raises:
        UsageError: it lists several, and not the recorded ones.
    """
    answer = get(base_url, "/v1/models", timeout=10.0) if is_near(base_url) else None
    listed = _ids(answer.json if answer else None)
    wanted = {name for name in recorded if name is not None}
    if not listed or (wanted and wanted <= set(listed)):
        return None
    if len(listed) > 1:
        raise UsageError(
            f"it serves {len(listed)} models, and none has the recorded name",
            where=base_url,
            remedy=f"Choose one: --request-model {shlex.quote(listed[0])}",
        )
    return listed[0]


def _ids(document: Json) -> list[str]:
    data = document.get("data") if isinstance(document, dict) else None
    entries = data if isinstance(data, list) else []
    found = [entry.get("id") for entry in entries if isinstance(entry, dict)]
    return [name for name in found if isinstance(name, str)]
