from cachediag.analysis.engines import engine
from cachediag.tokens.sequence import TokenSequence
from tests.analysis.engines.prompts import Session, prompt, text


def test_the_example_of_the_documentation() -> None:
    """vLLM's `docs/design/prefix_caching.md`, "Example": blocks of 4, ten of them."""
    session = Session(engine("vllm:block=4,capacity=40"))
    first = prompt(text(15))
    # Time 1 to 3: 15 tokens, and enough generated to fill block 3 and to ask for block 4.
    reply = TokenSequence([*first.chunks, *prompt(text(3, 1)).chunks])
    assert session.reused(first, reply=reply, started=1, first_byte=1, ended=5) == 0
    # Time 4: 14 tokens, the first 10 the same; block 2 matches only 2 of 4.
    second = prompt([*text(10), *text(4, 2)])
    assert session.reused(second, started=4, first_byte=4, ended=6) == 8
    # Time 7: 29 tokens, the first 12 the same as the first request's.
    third = prompt([*text(12), *text(17, 3)])
    served = session.send(third, started=7, first_byte=7, ended=8)
    assert served.reused == 12
    # Blocks 7, 8, 9 were free; 4, which was not full, and 3 are taken from the first request.
    again = session.send(prompt([*text(15), *list(reply)[15:17]]), started=9, ended=9)
    assert again.reused == 12
    assert again.reason is not None
    assert again.reason.code == "P02"


def test_generated_tokens_are_kept_but_the_last() -> None:
    """The same page, "Duplicated blocks": ABCDEF and three generated leave 0 and 1 cached."""
    session = Session(engine("vllm:block=4"))
    reply = prompt(text(6), text(3, 1))
    session.send(prompt(text(6)), reply=reply)
    assert session.reused(prompt(text(6), text(3, 1), text(5, 2))) == 8
    short = Session(engine("vllm:block=4"))
    short.send(prompt(text(6)), reply=prompt(text(6), text(2, 1)))
    assert short.reused(prompt(text(6), text(2, 1), text(5, 2))) == 4


def test_the_block_of_the_last_token_is_computed_again() -> None:
    """`get_computed_blocks`: at most num_tokens - 1 tokens, in whole blocks."""
    session = Session(engine("vllm"))
    session.send(prompt(text(32)))
    assert session.reused(prompt(text(32))) == 16
    session.send(prompt(text(33)))
    assert session.reused(prompt(text(33))) == 32


def test_a_prefix_shorter_than_a_block_is_not_found() -> None:
    session = Session(engine("vllm"))
    session.send(prompt(text(10), text(90, 1)))
    assert session.code(prompt(text(10), text(90, 2))) == "P03"
    assert session.code(prompt(text(10), text(90, 2))) is None


def test_a_cache_too_small_says_so() -> None:
    session = Session(engine("vllm:capacity=64"))
    session.send(prompt(text(60)), "main")
    assert session.send(prompt(text(60, 1)), "other").evicted == ("main",)
    served = session.send(prompt(text(60)), "main")
    assert (served.reused, served.reason and served.reason.code) == (0, "P02")
    assert served.reason is not None
    assert "other" in served.reason.note
    session.send(prompt(text(60), text(60, 2)))
    served = session.send(prompt(text(60), text(60, 2)))
    assert served.reason is not None
    assert (served.reused, served.reason.note) == (64, "the prompt is longer than the whole cache")


def test_what_a_running_request_holds_can_be_read() -> None:
    session = Session(engine("vllm"))
    session.send(prompt(text(100)), started=0, first_byte=50, ended=100)
    assert session.reused(prompt(text(100), text(9, 1)), started=10, ended=20) == 96
