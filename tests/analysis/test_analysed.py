"""A request's counts, multiplied."""

from hypothesis import given
from hypothesis import strategies as st

from cachediag.analysis.analysed import Analysed
from cachediag.model import ExchangeInfo, Finding, Usage


def made(
    prompt: int,
    *,
    reused: int = 0,
    blamed: tuple[tuple[str, str | None, int], ...] = (),
    created: int = 0,
    created_1h: int = 0,
    usage: int | None = None,
    index: int = 0,
    model: str = "claude-opus-4-8",
) -> Analysed:
    """A request of these tokens."""
    return Analysed(
        info=ExchangeInfo(
            index=index,
            endpoint="messages",
            path="/v1/messages",
            model=model,
            usage=None if usage is None else Usage(input_tokens=usage),
        ),
        lane="main",
        kind="turn",
        parent=None,
        prompt_tokens=prompt,
        shared_tokens=reused,
        reused_tokens=reused,
        avoidable_tokens=sum(tokens for *_, tokens in blamed),
        created_tokens=created,
        created_1h_tokens=created_1h,
        blamed=blamed,
    )


def test_every_count_is_multiplied() -> None:
    found = Finding(code="V01", severity="break", tokens_lost=300, message="")
    other = Finding(code="N01", severity="info", message="")
    request = Analysed(
        info=ExchangeInfo(endpoint="messages", path="/"),
        lane="main",
        kind="turn",
        parent=0,
        prompt_tokens=1_000,
        shared_tokens=200,
        reused_tokens=100,
        avoidable_tokens=400,
        created_tokens=700,
        created_1h_tokens=600,
        findings=(found, other),
        blamed=(("V01", "system[0].text", 300), ("P02", None, 100)),
    )
    scaled = request.scaled(1.3)
    assert (scaled.prompt_tokens, scaled.shared_tokens) == (1_300, 260)
    assert (scaled.reused_tokens, scaled.avoidable_tokens, scaled.new_tokens) == (130, 520, 650)
    assert (scaled.created_tokens, scaled.created_1h_tokens) == (910, 780)
    assert [found.tokens_lost for found in scaled.findings] == [390, None]
    assert scaled.blamed == (("V01", "system[0].text", 390), ("P02", None, 130))
    assert request.scaled(1.0) is request


@given(
    reused=st.integers(0, 90_000),
    parts=st.lists(st.integers(1, 30_000), max_size=5),
    new=st.integers(0, 30_000),
    kept=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    factor=st.floats(0.25, 4),
)
def test_parts_still_make_up_the_whole(
    reused: int, parts: list[int], new: int, kept: tuple[float, float], factor: float
) -> None:
    blamed = tuple(("V01", f"system[{n}].text", tokens) for n, tokens in enumerate(parts))
    prompt = reused + sum(parts) + new
    created = int((prompt - reused) * kept[0])
    request = made(
        prompt,
        reused=reused,
        blamed=blamed,
        created=created,
        created_1h=int(created * kept[1]),
    ).scaled(factor)
    assert request.prompt_tokens == round(prompt * factor)
    assert request.reused_tokens == round(reused * factor)
    assert min(request.avoidable_tokens, request.new_tokens) >= 0
    assert sum(tokens for *_, tokens in request.blamed) == request.avoidable_tokens
    assert all(tokens > 0 for *_, tokens in request.blamed)
    assert 0 <= request.created_1h_tokens <= request.created_tokens
    assert request.reused_tokens + request.created_tokens <= request.prompt_tokens
