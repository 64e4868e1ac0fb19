"""xgrammar, built from the tokens of our own tokenizer: no tokenizer of a hub is loaded.

Source: https://xgrammar.mlc.ai/docs/api/python/index.html (0.2.9).
"""

import json

from cachediag.lint.grammar.engine import Compiled, Compiler, Engine, Rejected, end_tokens, lines
from cachediag.model import Json
from cachediag.tokens.tokenizers import Tokenizer

__all__ = ["load"]


def load(tokenizer: Tokenizer) -> Engine:
    """The engine; takes seconds, for it imports torch."""
    import xgrammar

    vocabulary, ends = end_tokens(tokenizer)
    info = xgrammar.TokenizerInfo(vocabulary, stop_token_ids=ends)

    class XGrammarCompiler:
        def __init__(self) -> None:
            # As engines construct it: all options as they come.
            self._compiler = xgrammar.GrammarCompiler(info)

        def compile(self, prepared: str) -> Compiled:
            try:
                grammar = self._compiler.compile_structural_tag(prepared)
            except RuntimeError as error:
                raise Rejected(" ".join(lines(str(error)))) from None

            def fits(text: str) -> bool:
                matcher = xgrammar.GrammarMatcher(grammar)
                return bool(matcher.accept_string(text) and matcher.is_completed())

            return Compiled(grammar.memory_size_bytes, fits)

        def cache_size(self) -> int | None:
            return int(self._compiler.get_cache_size_bytes())

    class XGrammar:
        def prepare(self, tag: Json) -> str:
            return json.dumps(tag, ensure_ascii=False)

        def compiler(self) -> Compiler:
            return XGrammarCompiler()

    return XGrammar()
