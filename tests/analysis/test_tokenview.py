"""Tokens of pairs, against answers that were counted by a plain encoding of the whole."""

import tomllib
from pathlib import Path

import pytest

from cachediag.analysis.tokenview import Counter, counted, token_view
from cachediag.compare import compare
from cachediag.protocol import Parser
from cachediag.render import profile
from cachediag.render.templates import template
from cachediag.tokens.encoder import Encoder
from cachediag.tokens.tokenizers import tokenizer
from tests.compare.bodies import HEADER, body, raw

CASES = Path(__file__).parents[2] / "fixtures" / "cases"
ANSWERS = {
    path.parent.name: answer
    for path in sorted(CASES.glob("*/case.toml"))
    if "shared_tokens" in (answer := tomllib.loads(path.read_text(encoding="utf-8")))
}
ENCODERS = {name: Encoder(tokenizer(name)) for name in ("qwen2.5", "qwen3")}


def _counter(spec, model):
    return Counter(profile(spec, template(model)), ENCODERS[model], Parser())


@pytest.mark.parametrize("name", ANSWERS)
def test_the_case_collection(name):
    answer = ANSWERS[name]
    counter = _counter(answer["token_profile"], answer["token_model"])
    a, b = (
        counter.parser.parse((CASES / name / f"{letter}.json").read_bytes(), answer["endpoint"])
        for letter in "ab"
    )
    view = token_view(compare(a, b, counter.profile), counter)
    assert (view.shared, view.reusable) == (answer["shared_tokens"], answer["reusable_tokens"])
    assert sum(gained for _, gained in view.steps) == view.reusable - view.shared
    assert all(0 <= lost <= view.reusable - view.shared for lost in view.lost.values())


def test_the_rotating_header_on_a_release_that_keeps_it_and_on_one_that_does_not():
    later = body()
    later["system"][0]["text"] = HEADER.format("1c8b4")
    for spec, ends_inside in (("vllm-mlx@0.2.6", True), ("vllm-mlx@0.2.8", False)):
        counter = _counter(spec, "qwen2.5")
        a, b = (counter.parser.parse(raw(each), "messages") for each in (body(), later))
        comparison = compare(a, b, counter.profile)
        view = token_view(comparison, counter)
        assert view.exact
        assert view.reusable == view.a
        assert (view.shared < 60) == ends_inside
        (found, *_) = counted(comparison, view).breaks or (None,)
        assert (found is not None and found.tokens_lost == view.a - view.shared) == ends_inside
        # Against an encoding of the whole, by the rank file alone.
        encode = ENCODERS["qwen2.5"].tokenizer.encode
        whole = [encode(counter.rendered(each).text) for each in (a, b)]
        pairs = enumerate(zip(*whole, strict=False))
        plain = next((n for n, (x, y) in pairs if x != y), min(map(len, whole)))
        assert view.shared == plain
