"""An application for uvicorn: keeps the bodies it is sent, and answers in two events."""

import asyncio
import importlib.util
import os
from pathlib import Path
from typing import Any

_pause = float(os.environ["EXPORTS_PAUSE"])
_kept = Path(os.environ["EXPORTS_KEPT"])


async def keeper(scope: Any, receive: Any, send: Any) -> None:
    """Answer a request; its body goes to a file of its own, with its length as declared."""
    assert scope["type"] == "http"
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    if scope["method"] == "POST":
        declared = dict(scope["headers"])[b"content-length"].decode()
        (_kept / f"{len(list(_kept.iterdir())):03}-{declared}").write_bytes(body)
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"data: one\n\n", "more_body": True})
    await asyncio.sleep(_pause)
    await send({"type": "http.response.body", "body": b"data: two\n\n"})


_script = Path(os.environ["EXPORTS_SCRIPT"])
_spec = importlib.util.spec_from_file_location(_script.stem, _script)
assert _spec is not None
assert _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
app = _module.CachediagRules(keeper)
