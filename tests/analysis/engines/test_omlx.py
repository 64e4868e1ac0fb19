from cachediag.analysis.engines import engine
from tests.analysis.engines.prompts import Session, prompt, text


def test_only_full_blocks_are_stored() -> None:
    """`store_cache` of omlx: `num_new_blocks = len(new_tokens) // self.block_size`."""
    session = Session(engine("omlx"))
    session.send(prompt(text(1000)))
    assert session.reused(prompt(text(1000), text(100, 1))) == 768
    assert session.reused(prompt(text(1000), text(100, 1), text(300, 2))) == 1024


def test_a_prefix_shorter_than_a_block_is_not_found() -> None:
    session = Session(engine("omlx"))
    session.send(prompt(text(255), text(500, 1)))
    assert session.code(prompt(text(255), text(500, 2))) == "P03"
