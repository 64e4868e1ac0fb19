"""Ask a real server what its tokenizer is given; run by the interpreter that holds the server.

    python rendering_oracle.py vllm-mlx|mlx-lm QUESTION ANSWERS

The question is a file with one JSON document: `cases`, a list of path and base64 body; `runs`, a
list of model directory and tool parser (null for none). Each line of the answers is for one run and
one case: the prompt, the number of its tokens and the digest of their ids, or what was said
instead.

vllm-mlx is asked through its HTTP application and its own engine, whose model is replaced by one
that writes down the prompt instead of generating. mlx-lm is asked through the method of its server
that turns a request into tokens.
"""

import asyncio
import base64
import json
import logging
import os
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

__all__: list[str] = []

Answer = dict[str, Any]
Ask = Callable[[str, bytes], Answer]


class _Written(Exception):  # noqa: N818 - it ends the generation, it is no failure
    """The prompt was written down."""


def main() -> None:
    """Answer the question."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    logging.disable(logging.CRITICAL)
    engine, asked, answered = sys.argv[1:]
    question = json.loads(Path(asked).read_text(encoding="utf-8"))
    cases = [(path, base64.b64decode(body)) for path, body in question["cases"]]
    asking = {"vllm-mlx": _ask_vllm_mlx, "mlx-lm": _ask_mlx_lm}[engine]
    with Path(answered).open("w", encoding="utf-8") as file:
        for run, (model, parser) in enumerate(question["runs"]):
            told = _answers(asking(model, parser), cases)
            file.writelines(
                json.dumps({"run": run, "case": case} | answer) + "\n" for case, answer in told
            )


def _answers(ask: Ask, cases: Sequence[tuple[str, bytes]]) -> Iterator[tuple[int, Answer]]:
    for number, (path, body) in enumerate(cases):
        yield number, ask(path, body)


def _told(prompt: str, ids: list[int]) -> Answer:
    return {"prompt": prompt, "tokens": len(ids), "ids": sha256(array("I", ids)).hexdigest()}


def _ask_vllm_mlx(model: str, parser: str | None) -> Ask:
    server: Any = import_module("vllm_mlx.server")
    output = import_module("vllm_mlx.engine.base").GenerationOutput
    tokenizer = import_module("mlx_lm.tokenizer_utils").load(Path(model))
    written: list[str] = []

    def generate(prompt: str, **_: Any) -> None:
        written.append(prompt)
        raise _Written

    async def stream_generate(prompt: str, **_: Any) -> Any:
        written.append(prompt)
        yield output(text="", finished=True, finish_reason="stop")

    engine = import_module("vllm_mlx.engine.simple").SimpleEngine(model)
    engine.stream_generate = stream_generate
    engine._model = import_module("vllm_mlx.models.llm").MLXLanguageModel(model)
    engine._model.generate = generate
    engine._model.tokenizer = tokenizer
    engine._model._loaded = engine._loaded = True
    # The path that looks for a kept prefix builds the same prompt and then runs the model itself.
    engine._is_mllm = engine._supports_system_kv_cache = False
    server._engine = engine
    server._enable_auto_tool_choice, server._tool_call_parser = parser is not None, parser
    engine.preserve_native_tool_format = server._detect_native_tool_support()

    def ask(path: str, body: bytes) -> Answer:
        written.clear()
        server._model_name = json.loads(body)["model"]
        said = asyncio.run(_post(server.app, path, body))
        if not written:
            return {"said": said}
        bos = tokenizer.bos_token
        special = bos is None or not written[0].startswith(bos)
        return _told(written[0], tokenizer.encode(written[0], add_special_tokens=special))

    return ask


async def _post(app: Any, path: str, body: bytes) -> str:
    """What an application answers to a request; what it raises, where it does."""
    sent: list[bytes] = []
    given = iter([{"type": "http.request", "body": body}])

    async def receive() -> dict[str, Any]:
        for message in given:
            return message
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message.get("body", b""))

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    try:
        await asyncio.wait_for(app(scope, receive, send), 30)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        return f"{type(error).__name__}: {error}"[:300]
    return b"".join(sent).decode(errors="replace")[:300]


def _ask_mlx_lm(model: str, _: str | None) -> Ask:
    server = import_module("mlx_lm.server")
    tokenizer = import_module("mlx_lm.tokenizer_utils").load(Path(model))
    texts: list[str] = []

    class Spy:
        """The tokenizer, which also writes down what it makes into tokens."""

        def __getattr__(self, name: str) -> Any:
            return getattr(tokenizer, name)

        def apply_chat_template(self, messages: Any, **options: Any) -> Any:
            texts.append(tokenizer.apply_chat_template(messages, **options | {"tokenize": False}))
            return tokenizer.apply_chat_template(messages, **options)

    provider = SimpleNamespace(cli_args=SimpleNamespace(chat_template_args={}), processor=None)
    generator = SimpleNamespace(model_provider=provider)

    def ask(path: str, body: bytes) -> Answer:
        given = json.loads(body)
        if not path.endswith("/chat/completions"):
            return {"said": "no such endpoint"}
        tools, roles = given.get("tools") or None, given.get("role_mapping")
        request = server.CompletionRequest("chat", "", given["messages"], tools, roles)
        options = SimpleNamespace(chat_template_kwargs=given.get("chat_template_kwargs"))
        texts.clear()
        try:
            made = server.ResponseGenerator._tokenize(generator, Spy(), request, options)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            return {"said": f"{type(error).__name__}: {error}"[:300]}
        return _told(texts[0], made[0])

    return ask


if __name__ == "__main__":
    main()
