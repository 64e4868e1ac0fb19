"""Ask the decoders themselves what they make of the corpus, and write it to `outcomes.json`.

python -m tests.lint.record [DECODER …]   with the packages installed

Each schema goes to a process of its own with a limit of time: some never come to an end. A keyword
is ignored where the matcher accepts output that breaks that keyword and nothing else. The
vocabulary is the 256 bytes.
"""

import copy
import json
import multiprocessing
import resource
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from queue import Empty
from typing import Any

from tests.lint.corpus import CORPUS, Entry

OUTCOMES = Path(__file__).with_name("outcomes.json")
_SECONDS = 25
_MEMORY = 12 << 30
_BYTES = [bytes([number]) for number in range(256)]

Matcher = Callable[[str], bool]


def _xgrammar(schema: Any) -> Matcher:
    import xgrammar

    info = xgrammar.TokenizerInfo([*_BYTES, b"<end>"], stop_token_ids=[256])
    compiled = xgrammar.GrammarCompiler(info).compile_json_schema(json.dumps(schema))

    def accepts(text: str) -> bool:
        matcher = xgrammar.GrammarMatcher(compiled)
        return bool(matcher.accept_string(text) and matcher.accept_token(256))

    return accepts


def _llguidance(schema: Any) -> Matcher:
    import llguidance

    wrapper = import_module("llguidance._tokenizer").TokenizerWrapper

    class Bytes:
        eos_token_id, bos_token_id, special_token_ids = 256, None, (256,)
        tokens = (*_BYTES, b"\xff<end>")

        def __call__(self, text: str | bytes) -> list[int]:
            return list(text if isinstance(text, bytes) else text.encode())

    tokenizer = llguidance.LLTokenizer(wrapper(Bytes()))
    grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema))
    made = llguidance.LLMatcher(tokenizer, grammar, log_level=0)
    if made.is_error():
        raise ValueError(made.get_error())

    def accepts(text: str) -> bool:
        matcher = llguidance.LLMatcher(tokenizer, grammar, log_level=0)
        data = list(text.encode())
        return bool(matcher.try_consume_tokens(data) == len(data) and matcher.is_accepting())

    return accepts


def _lm_format_enforcer(schema: Any) -> Matcher:
    parser_of = import_module("lmformatenforcer").JsonSchemaParser
    parser_of(copy.deepcopy(schema))

    def accepts(text: str) -> bool:
        parser = parser_of(copy.deepcopy(schema))
        for one in text:
            if one not in parser.get_allowed_characters():
                return False
            parser = parser.add_character(one)
        return bool(parser.can_end())

    return accepts


def _outlines(schema: Any) -> Matcher:
    core = import_module("outlines_core")
    expression = core.json_schema.build_regex_from_schema(json.dumps(schema))
    vocabulary = core.Vocabulary(256, {one: [number] for number, one in enumerate(_BYTES)})
    index = core.Index(expression, vocabulary)

    def accepts(text: str) -> bool:
        state = index.get_initial_state()
        for number in text.encode():
            state = index.get_next_state(state, number)
            if state is None:
                return False
        return bool(index.is_final_state(state))

    return accepts


DECODERS = {
    "xgrammar": ("xgrammar", _xgrammar),
    "llguidance": ("llguidance", _llguidance),
    "lm-format-enforcer": ("lm-format-enforcer", _lm_format_enforcer),
    "outlines": ("outlines-core", _outlines),
}


MODULES = {
    "xgrammar": "xgrammar",
    "llguidance": "llguidance",
    "lm-format-enforcer": "lmformatenforcer",
    "outlines": "outlines_core",
}


def _ask(queue: Any, decoder: str, entry: Entry) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    try:
        accepts = DECODERS[decoder][1](entry.schema)
        for text in entry.fits:
            accepts(text)
        ignored = [keyword for keyword, text in entry.breaks.items() if accepts(text)]
    except BaseException:  # noqa: BLE001 - Rust panics come as such
        queue.put("rejects")
    else:
        # What a parser made while it decodes fails shows only where something is decoded.
        late = decoder == "lm-format-enforcer" and not (entry.fits or entry.breaks)
        queue.put(None if late else ignored)


def outcome(decoder: str, entry: Entry) -> Any:
    """`rejects`, `stalls`, the keywords that are ignored, or null where it cannot be told."""
    queue: Any = multiprocessing.Queue()
    process = multiprocessing.Process(target=_ask, args=(queue, decoder, entry))
    process.start()
    try:
        return queue.get(timeout=_SECONDS)
    except Empty:
        return "stalls"
    finally:
        process.kill()
        process.join()


def main(decoders: list[str]) -> None:
    made = json.loads(OUTCOMES.read_text(encoding="utf-8")) if OUTCOMES.exists() else {}
    for decoder in decoders or DECODERS:
        # Children find it imported.
        import_module(MODULES[decoder])
        made[decoder] = {
            "version": version(DECODERS[decoder][0]),
            "outcomes": {entry.name: outcome(decoder, entry) for entry in CORPUS},
        }
    OUTCOMES.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
