from dataclasses import dataclass

import pytest

from cachediag.errors import UsageError
from cachediag.simulate.model import Scale, Unit
from cachediag.simulate.policies import policy
from tests.simulate.fleet import fleet
from tests.simulate.prompts import request


@dataclass(frozen=True)
class Text:
    """A body and the text of its messages, of one character a byte."""

    body: str
    messages: str

    def key(self, unit: Unit, length: int) -> int:
        text = self.body if unit == "bytes" else self.messages
        return int.from_bytes(text[:length].encode()) % 1000003


def test_heads_go_to_their_own_instance_up_to_the_threshold() -> None:
    """`PrefixLength` 1,024, `ConcurrencyThreshold` 4; ties are broken by seed 0: 0.844, 0.758.

    Heads 1 and 2 belong to instance 2, head 3 to instance 0: so the ring has it.

    | request | head | outstanding at 0, 1, 2 | chosen | why |
    |---|---|---|---|---|
    | 1 | 1 | 0 0 0 | 2 | its own |
    | 2 | 3 | 0 0 1 | 0 | its own |
    | 3 | 1 | 1 0 3 | 2 | its own: below the threshold |
    | 4 | 1 | 1 0 4 | 1 | the threshold is reached: the fewest |
    | 5 | 2 | 1 1 4 | 1 | the threshold is reached: of 0 and 1 the second, by 0.844 |
    | 6 | 1 | 1 2 3 | 2 | its own again: request 4 left no trace |
    | 7 | 1 | 9 8 7 | 2 | all are at the threshold: the fewest, which is its own |
    """
    chooser = policy("sagemaker:PrefixLength=1024,ConcurrencyThreshold=4")
    chooser.prepare(Scale(block=1024, characters=1.0), 0)
    steps = [
        *((1, (0, 0, 0)), (3, (0, 0, 1)), (1, (1, 0, 3)), (1, (1, 0, 4))),
        *((2, (1, 1, 4)), (1, (1, 2, 3)), (1, (9, 8, 7))),
    ]
    chosen = [
        chooser.choose(request(blocks=(head, 70 + at)), fleet(outstanding=loads), 0.0).id
        for at, (head, loads) in enumerate(steps)
    ]
    assert chosen == [2, 0, 2, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("call", "equal", "different"),
    [
        ("InvokeEndpoint", Text("x" * 1024 + "a", "b"), Text("x" * 1023 + "a", "m" * 2000)),
        ("OpenAI", Text("b", "m" * 1024 + "a"), Text("x" * 2000, "m" * 1023 + "a")),
    ],
)
def test_the_call_says_what_a_head_is_counted_in(call: str, equal: Text, different: Text) -> None:
    """Only the first 1,024 count: of the body's bytes, or of the messages' characters."""
    chooser = policy(f"sagemaker:PrefixLength=1024,call={call}")
    chooser.prepare(Scale(block=4), 0)
    wide = fleet("".join(map(str, range(10))))

    def chosen(text: Text) -> int:
        return chooser.choose(request("1", heads=text), wide, 0.0).id

    assert chosen(Text("x" * 2000, "m" * 2000)) == chosen(equal)
    assert chosen(Text("x" * 2000, "m" * 2000)) != chosen(different)


@pytest.mark.parametrize(
    ("characters", "counted"),
    # Blocks of 64 characters: 1,024 end with the 16th. Of 48: the 22nd holds the 1,024th.
    [(4.0, 16), (3.0, 22)],
)
def test_without_text_a_head_is_the_block_that_holds_its_last_character(
    characters: float, counted: int
) -> None:
    chooser = policy("sagemaker:PrefixLength=1024")
    chooser.prepare(Scale(block=16, characters=characters), 0)
    wide = fleet("".join(map(str, range(10))))
    same = {
        chooser.choose(request(blocks=(*range(counted), tail)), wide, 0.0).id for tail in range(30)
    }
    other = {
        chooser.choose(request(blocks=(*range(counted - 1), tail)), wide, 0.0).id
        for tail in range(100, 130)
    }
    assert len(same) == 1
    assert len(other) > 1


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("PrefixLength=1023", "PrefixLength must be from 1024 to 65536, not 1023"),
        ("PrefixLength=65537", "PrefixLength must be from 1024 to 65536, not 65537"),
        ("ConcurrencyThreshold=0", "ConcurrencyThreshold must be from 1 to 1024, not 0"),
        ("ConcurrencyThreshold=1025", "ConcurrencyThreshold must be from 1 to 1024, not 1025"),
        ("call=rest", "call of sagemaker must be InvokeEndpoint or OpenAI, not 'rest'"),
        ("PrefixLength=4k", "PrefixLength of sagemaker must be a number, not '4k'"),
        ("prefixlength=4096", "sagemaker has no option 'prefixlength'"),
    ],
)
def test_the_published_ranges_are_kept(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}$"):
        policy(f"sagemaker:{spec}")


@pytest.mark.parametrize("spec", ["PrefixLength=1024", "PrefixLength=65536"])
@pytest.mark.parametrize("other", ["ConcurrencyThreshold=1", "ConcurrencyThreshold=1024"])
def test_the_ends_of_the_ranges_are_in_them(spec: str, other: str) -> None:
    assert policy(f"sagemaker:{spec},{other}").name == "sagemaker"
