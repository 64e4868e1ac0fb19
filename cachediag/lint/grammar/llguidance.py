"""llguidance, which compiles little ahead, computes masks as it goes, and remembers no grammar.

Source: https://github.com/guidance-ai/llguidance/blob/main/docs/syntax.md (1.9).
"""

import json
from collections.abc import Iterator, Sequence

from cachediag.lint.grammar.engine import Compiled, Compiler, Engine, Rejected, end_tokens, lines
from cachediag.model import Json
from cachediag.tokens.tokenizers import Tokenizer

__all__ = ["load"]


class _Tokens:
    """A tokenizer as the library asks for it."""

    bos_token_id = None

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.tokens, ends = end_tokens(tokenizer)
        self.eos_token_id = ends[0]
        # Tags such as `<tool_call>` are text to a grammar, whatever a tokenizer makes of them.
        self.special_token_ids = ends

    def __call__(self, text: str) -> Sequence[int]:
        return self._tokenizer.encode(text)


def load(tokenizer: Tokenizer) -> Engine:
    """The engine."""
    import llguidance

    wrapped = llguidance.TokenizerWrapper(_Tokens(tokenizer))
    tokens = llguidance.LLTokenizer(wrapped)

    class LLGuidanceCompiler:
        def compile(self, prepared: str) -> Compiled:
            matcher = llguidance.LLMatcher(tokens, prepared, log_level=0)
            if matcher.is_error():
                raise Rejected(_reason(matcher.get_error()))

            def fits(text: str) -> bool:
                ids = tokens.tokenize_str(text)
                fresh = llguidance.LLMatcher(tokens, prepared, log_level=0)
                return bool(fresh.try_consume_tokens(ids) == len(ids) and fresh.is_accepting())

            return Compiled(None, fits, lines(matcher.get_grammar_warnings()))

        def cache_size(self) -> int | None:
            return None

    class LLGuidance:
        def prepare(self, tag: Json) -> str:
            form = tag["format"]
            if form["type"] == "json_schema":
                return str(
                    llguidance.LLMatcher.grammar_from_json_schema(json.dumps(form["json_schema"]))
                )
            tags = [
                llguidance.StructTag(trigger=trigger, begin=begin, grammar=schema, end=end)
                for trigger, begin, schema, end in _calls(form["elements"][-1])
            ]
            return str(llguidance.StructTag.to_grammar(tags, assume_special=False))

        def compiler(self) -> Compiler:
            return LLGuidanceCompiler()

    return LLGuidance()


def _calls(form: Json) -> Iterator[tuple[str, str, str, str]]:
    """Trigger, beginning, schema and end of each call; of a list of calls, lists of one."""
    (trigger,) = form["triggers"]
    for tag in form["tags"]:
        inner = tag["content"]
        if inner["type"] == "tags_with_separator":
            for each in inner["tags"]:
                schema = json.dumps(each["content"]["json_schema"])
                yield trigger, tag["begin"] + each["begin"], schema, each["end"] + tag["end"]
        else:
            yield trigger, tag["begin"], json.dumps(inner["json_schema"]), tag["end"]


def _reason(error: str) -> str:
    """The first line of an error, which the grammar follows."""
    first = next(iter(lines(error)), "it does not say why")
    return first.partition("failed to compile JSON schema: ")[2] or first
