from typing import TYPE_CHECKING

import pytest

from cachediag.errors import UsageError
from cachediag.model import Exchange, ExchangeInfo
from cachediag.session.source import numbered

if TYPE_CHECKING:
    from cachediag.session import Source


def test_exchanges_are_numbered_and_measured() -> None:
    info = ExchangeInfo(index=9, endpoint="chat", path="/v1/chat/completions")
    source: Source = numbered("n", [Exchange(info, b"ab", b"c"), Exchange(info, b"")], ["told"])
    assert (source.name, source.notes) == ("n", ("told",))
    got = list(source.exchanges())
    assert [e.info for e in got] == list(source.infos())
    assert [(e.info.index, e.info.request_size, e.info.response_size) for e in got] == [
        (0, 2, 1),
        (1, 0, 0),
    ]
    assert source.exchange(1) == got[1]


@pytest.mark.parametrize(
    ("count", "index", "message"),
    [
        (2, 2, "n: no request 2: it holds 2, numbered from 0 to 1"),
        (2, -1, "n: no request -1: it holds 2, numbered from 0 to 1"),
        (0, 0, "n: no request 0: it holds none"),
    ],
)
def test_a_number_that_is_not_there_is_the_users_mistake(
    count: int, index: int, message: str
) -> None:
    item = Exchange(ExchangeInfo(endpoint="other", path="/"), b"")
    with pytest.raises(UsageError) as caught:
        numbered("n", [item] * count).exchange(index)
    assert str(caught.value) == message
