"""The little of a request body that is needed before the whole is parsed."""

import msgspec

from cachediag.model import Json

__all__ = ["read_model"]


class _Model(msgspec.Struct):
    model: Json = None


_decoder = msgspec.json.Decoder(_Model)


def read_model(body: bytes) -> str | None:
    """Read the model a request asks for.

    Args:
        body: a raw request body, of any protocol.

    Returns:
        The `model` field; None where the body is not a JSON object or names none.
    """
    try:
        model = _decoder.decode(body).model
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return model if isinstance(model, str) else None
