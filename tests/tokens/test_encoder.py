"""What the encoder puts together equals what the tokenizer makes of the whole text."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cachediag.tokens import encoder as module
from cachediag.tokens.encoder import Encoder
from cachediag.tokens.sequence import Chunk
from cachediag.tokens.tokenizers import Tokenizer, tokenizer
from cachediag.tokens.tokenizers.bytepairs import (
    LLAMA_3,
    O200K,
    QWEN_2,
    QWEN_3_5,
    BytePairs,
    encoding,
    read_ranks,
)
from cachediag.tokens.tokenizers.library import Library
from cachediag.tokens.tokenizers.openai import CL100K
from tests.tokens.texts import SPECIAL, pieces, surrogates, texts, trained, written

THOUSANDS = settings(
    max_examples=2000,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Counting:
    """A tokenizer that keeps what it was asked."""

    name, exact = "counting", True

    def __init__(self, of: Tokenizer) -> None:
        self.of = of
        self.special, self.cuts = of.special, of.cuts
        self.asked: list[str] = []

    def encode(self, text: str) -> list[int]:
        self.asked.append(text)
        return self.of.encode(text)

    def characters(self, text: str, token: int) -> int:
        return self.of.characters(text, token)

    def vocabulary(self) -> list[bytes]:
        return self.of.vocabulary()


@pytest.fixture(scope="module")
def qwen() -> Tokenizer:
    return tokenizer("qwen2.5")


@pytest.fixture
def _short_chunks() -> Iterator[None]:
    """Cut wherever a text can be cut, for the texts of these tests are short."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LEAST", 1)
        yield


def tiktoken_whole(text: str) -> list[int]:
    """The whole text by tiktoken, with Qwen 2.5's special tokens."""
    import tiktoken

    if not WHOLE:
        of = tokenizer("qwen2.5")
        ranks = of._encoding._mergeable_ranks  # type: ignore[attr-defined]
        WHOLE.append(
            tiktoken.Encoding(
                "whole", pat_str=QWEN_2, mergeable_ranks=ranks, special_tokens=dict(of.special)
            )
        )
    found: list[int] = WHOLE[0].encode(text, allowed_special="all")
    return found


WHOLE: list = []


@pytest.mark.usefixtures("_short_chunks")
@THOUSANDS
@given(texts)
def test_chunks_in_a_row_are_the_whole_as_tiktoken_encodes_it(text: str) -> None:
    bare = tokenizer("qwen2.5")
    assert isinstance(bare, BytePairs)
    plain = BytePairs("plain", bare._encoding, bare.special)
    assert list(Encoder(plain).sequence([text])) == tiktoken_whole(text)


@pytest.mark.usefixtures("_short_chunks")
@THOUSANDS
@given(st.lists(texts, max_size=8))
def test_texts_in_a_row_are_encoded_as_one(qwen: Tokenizer, parts: list[str]) -> None:
    encoder = Encoder(qwen)
    whole = qwen.encode("".join(parts))
    assert list(encoder.sequence(parts)) == whole
    for part in parts:
        encoder.sequence([part])
    assert list(encoder.sequence(parts)) == whole


_MESSAGES = st.one_of(texts, texts.map("<|im_start|>".__add__))


@pytest.mark.usefixtures("_short_chunks")
@settings(THOUSANDS, max_examples=1000)
@given(st.lists(_MESSAGES, min_size=1, max_size=6), st.data())
def test_a_prompt_that_goes_on_from_an_earlier_one_is_encoded_as_alone(
    qwen: Tokenizer, messages: list[str], data: st.DataObject
) -> None:
    encoder = Encoder(qwen)
    parts = ["<|im_start|>system\n", "<|im_start|>user\n"]
    for _ in range(4):
        keep = data.draw(st.integers(0, len(parts)))
        parts = parts[:keep] + data.draw(st.lists(st.sampled_from(messages), max_size=4))
        assert list(encoder.sequence(parts)) == qwen.encode("".join(parts))


def encoded(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by each text that is encoded from now on."""
    asked = list[str]()
    chunks = encoder.chunks

    def noted(text: str) -> tuple[Chunk, ...]:
        asked.append(text)
        return chunks(text)

    monkeypatch.setattr(encoder, "chunks", noted)
    return asked


def test_a_conversation_is_taken_up_where_it_differs(
    qwen: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = Encoder(qwen)
    asked = encoded(encoder, monkeypatch)
    talk = [f"<|im_start|>user\n{number}<|im_end|>\n" for number in range(9)]
    encoder.sequence(["<|im_start|>system\nA", *talk])
    asked.clear()
    again = encoder.sequence(["<|im_start|>system\nB", *talk[:8], "<|im_start|>", "assistant"])
    assert asked == ["<|im_start|>system\nB", "<|im_start|>assistant"]
    assert again.starts[-1] == len(list(again))


def test_an_estimate_is_taken_up_behind_a_head_that_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder = Encoder(tokenizer("claude"))
    asked = encoded(encoder, monkeypatch)
    talk = [f"\nuser:\n{number}\n" for number in range(9)]
    encoder.sequence(["a tool", "another tool", "header A", *talk], 3)
    asked.clear()
    parts = ["a tool", "another tool", "header B", *talk, "\nuser:\nnew\n"]
    again = encoder.sequence(parts, 3)
    assert asked == ["header B", "\nuser:\nnew\n"]
    assert list(again) == list(Encoder(tokenizer("claude")).sequence(parts))


@pytest.mark.usefixtures("_short_chunks")
@settings(THOUSANDS, max_examples=60)
@given(st.lists(_MESSAGES, max_size=8), st.data())
def test_it_does_not_matter_where_the_conversation_is_said_to_begin(
    qwen: Tokenizer, parts: list[str], data: st.DataObject
) -> None:
    encoder, whole = Encoder(qwen), qwen.encode("".join(parts))
    for _ in range(3):
        assert list(encoder.sequence(parts, data.draw(st.integers(0, len(parts))))) == whole


@pytest.mark.usefixtures("_short_chunks")
@settings(THOUSANDS, max_examples=1000)
@given(texts, st.lists(st.integers(0, 200), max_size=6))
def test_it_does_not_matter_where_a_text_is_parted(
    qwen: Tokenizer, text: str, places: list[int]
) -> None:
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    parts = [text[a:b] for a, b in pairwise(edges)]
    assert list(Encoder(qwen).sequence(parts)) == qwen.encode(text)


@pytest.mark.usefixtures("_short_chunks")
@settings(THOUSANDS, max_examples=300)
@given(surrogates)
def test_a_lone_surrogate_counts_as_the_replacement_character(qwen: Tokenizer, text: str) -> None:
    seen = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert list(Encoder(qwen).sequence([text])) == qwen.encode(seen)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> tuple:
    """A tokenizer as engines run it, and the same read by cachediag."""
    library = trained()
    path = written(library, tmp_path_factory.mktemp("engine") / "tokenizer.json")
    return library, tokenizer(str(path))


@pytest.mark.usefixtures("_short_chunks")
@THOUSANDS
@given(texts)
def test_chunks_in_a_row_are_the_whole_as_an_engine_encodes_it(engine: tuple, text: str) -> None:
    library, ours = engine
    assert isinstance(ours, BytePairs)
    assert list(Encoder(ours).sequence([text])) == library.encode(text).ids


@pytest.fixture(scope="module", params=[QWEN_2, LLAMA_3, QWEN_3_5, O200K, CL100K])
def any_pattern(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> BytePairs:
    """A tokenizer that knows every pair of bytes, so that hardly two texts have the same ids."""
    singles = {bytes([n]): n for n in range(256)}
    pairs = {bytes([a, b]): 256 + 256 * a + b for a in range(256) for b in range(256)}
    return BytePairs("pairs", encoding("pairs", singles | pairs, request.param), {})


@settings(THOUSANDS, max_examples=400)
@given(texts)
def test_wherever_the_rule_allows_a_cut_both_sides_are_as_in_the_whole(
    any_pattern: BytePairs, text: str
) -> None:
    encoder = Encoder(any_pattern)
    whole = any_pattern.encode(text)
    for place in range(1, len(text)):
        if encoder._is_apart(text[:place], text[place:]):
            assert any_pattern.encode(text[:place]) + any_pattern.encode(text[place:]) == whole


@settings(THOUSANDS, max_examples=1000)
@given(texts)
def test_only_places_that_the_rule_allows_are_found(text: str) -> None:
    encoder = Encoder(BytePairs("none", encoding("none", {b"a": 0}, QWEN_2), {}))
    cuts = encoder.tokenizer.cuts
    assert cuts is not None
    for found in cuts.finditer(text):
        place = found.start() if found[0] == " " else found.end()
        assert encoder._is_apart(text[:place], text[place:])


@pytest.mark.parametrize("name", ["metaspace", "one word", "flags", "overlap", "words"])
@settings(THOUSANDS, max_examples=150)
@given(st.lists(texts, max_size=4))
def test_other_kinds_of_tokenizers_are_exact_too(odd: dict, name: str, parts: list[str]) -> None:
    library, ours = odd[name]
    expected = library.encode("".join(parts), add_special_tokens=False).ids
    assert list(Encoder(ours).sequence(parts)) == expected


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """Tokenizers that tiktoken cannot stand for, each with the same read by cachediag."""
    from tokenizers import AddedToken, normalizers, pre_tokenizers

    made = {
        "metaspace": trained(pre_tokenizer=pre_tokenizers.Metaspace(prepend_scheme="first")),
        "one word": trained(
            normalizer=normalizers.Replace(" ", "▁"),
            pre_tokenizer=pre_tokenizers.Split(" ", "merged_with_previous"),
        ),
        "flags": trained(),
        "overlap": trained(normalizer=normalizers.NFKC()),
        "words": trained(),
    }
    made["flags"].add_tokens(
        [AddedToken("word", lstrip=True, rstrip=True), AddedToken("é", normalized=True)]
    )
    made["overlap"].add_tokens([AddedToken("}<|im", normalized=False)])
    made["overlap"].add_special_tokens(["\n\n"])
    made["words"].add_tokens([AddedToken("Word", single_word=True, normalized=False)])
    made["words"].add_special_tokens(["EOS"])
    found = {}
    for name, library in made.items():
        path = written(library, tmp_path_factory.mktemp("odd") / "tokenizer.json")
        found[name] = library, tokenizer(str(path))
    return found


@pytest.mark.parametrize(
    ("name", "parts"), [("overlap", ["}", "<|im_start|>"]), ("words", ["A Word", "EOS", "s"])]
)
def test_where_tokens_touch_each_other_nothing_is_cut(odd: dict, name: str, parts: list) -> None:
    library, ours = odd[name]
    assert isinstance(ours, Library)
    assert list(Encoder(ours).sequence(parts)) == library.encode("".join(parts)).ids


@pytest.mark.parametrize("parts", [["z", "<a>"], ["z<a>"], ["<a", ">"], ["<", "a>"], ["<a", "<a>"]])
def test_the_leftmost_and_longest_special_token_is_taken(parts: list[str]) -> None:
    bare = encoding("bytes", {bytes([n]): n for n in range(256)}, QWEN_2)
    ours = BytePairs("bytes", bare, {"<a": 300, "<a>": 301, "z<a": 302})
    expected = {"z<a>": [302, 62], "<a>": [301], "<a<a>": [300, 301]}["".join(parts)]
    assert list(Encoder(ours).sequence(parts)) == expected


def test_text_is_encoded_once(qwen: Tokenizer) -> None:
    counting = Counting(qwen)
    encoder = Encoder(counting)
    first = encoder.sequence(["<|im_start|>user\nHello<|im_end|>\n", "<|im_start|>assistant\n"])
    asked = len(counting.asked)
    second = encoder.sequence(
        ["<|im_start|>user\nHello<|im_end|>\n", "<|im_start|>assistant\nHi<|im_end|>\n"]
    )
    assert counting.asked[asked:] == ["<|im_start|>assistant\nHi"]
    assert second.chunks[0] is first.chunks[0]
    assert first.shared(second) == len(first)


def test_a_long_text_that_changes_in_one_place_is_encoded_anew_around_it(qwen: Tokenizer) -> None:
    counting = Counting(qwen)
    encoder = Encoder(counting)
    words = [f"{n} sheep went over the wall, and then came another one." for n in range(3000)]
    encoder.sequence([" ".join(words)])
    counting.asked.clear()
    words[1500] = "A wolf of unheard-of size and with many teeth came."
    changed = encoder.sequence([" ".join(words)])
    assert sum(map(len, counting.asked)) < 10_000
    assert list(changed) == qwen.encode(" ".join(words))


def test_texts_are_forgotten_but_not_what_they_were_cut_into(
    qwen: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_HELD", 100)
    counting = Counting(qwen)
    encoder = Encoder(counting)
    for number in range(50):
        encoder.sequence([f"Text number {number}, which is not long."])
    assert sum(map(len, encoder._texts)) <= 100
    assert sum(map(len, encoder._heads)) <= 100
    counting.asked.clear()
    encoder.sequence(["Text number 0, which is not long."])
    assert counting.asked == []


def test_chunks_are_cut_before_special_tokens(qwen: Tokenizer) -> None:
    chunks = Encoder(qwen).chunks("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    assert [list(chunk.ids) for chunk in chunks] == [
        [151644, 872, 198, 13048],
        [151645, 198],
        [151644, 77091, 198],
    ]
    assert [chunk.size for chunk in chunks] == [19, 11, 22]


@pytest.mark.usefixtures("_short_chunks")
@settings(THOUSANDS, max_examples=500)
@given(st.lists(pieces.filter(str.isascii), max_size=24).map("".join), st.data())
def test_a_token_is_found_in_the_text(qwen: Tokenizer, text: str, data: st.DataObject) -> None:
    encoder = Encoder(qwen)
    whole = qwen.encode(text)
    token = data.draw(st.integers(0, len(whole)))
    place = encoder.characters(text, token)
    spelled = {id_: name for name, id_ in qwen.special.items()}
    assert isinstance(qwen, BytePairs)
    head = "".join(
        spelled.get(one) or qwen._encoding.decode_bytes([one]).decode() for one in whole[:token]
    )
    assert text[:place] == head


def test_a_token_within_a_character_is_found_before_it(qwen: Tokenizer) -> None:
    text = "a\U00012345 b"
    ids = qwen.encode(text)
    assert len(ids) > 3
    assert Encoder(qwen).characters(text, 2) == 1


def test_a_token_is_found_where_the_text_is_not_in_normal_form(qwen: Tokenizer) -> None:
    text = "cafe\u0301 au lait, cafe\u0301 noir"
    encoder = Encoder(qwen)
    ids = qwen.encode(text)
    lait = next(n for n in range(len(ids)) if qwen.encode(text[: text.index(" lait")]) == ids[:n])
    assert encoder.characters(text, lait) == text.index(" lait")
    assert encoder.characters(text, len(ids)) == len(text)


def test_rank_files_are_read_as_tiktoken_reads_them() -> None:
    assert read_ranks(b"IQ== 0\nIg== 1\n\n") == {b"!": 0, b'"': 1}


def test_special_tokens_are_taken_as_such_in_what_users_write(qwen: Tokenizer) -> None:
    assert qwen.encode("Say <|im_end|>!") == [45764, 220, 151645, 0]
    assert set(SPECIAL) <= qwen.special.keys()
