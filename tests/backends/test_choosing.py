"""What counts for a session: what was named first, its backend's own next."""

from pathlib import Path

from cachediag.backends.choosing import asked, choice_for, chosen, recorded
from cachediag.model import Exchange, ExchangeInfo
from cachediag.session import Outgoing, Session
from cachediag.session.source import numbered

BODY = b'{"model":"m","messages":[{"role":"user","content":"Hello"}]}'
META = {
    "backend": "vllm-mlx 0.4.1",
    "backend_endpoints": "chat",
    "profile": "vllm-mlx@0.4.1",
    "engine": "mlx-lm",
}


def session(path: Path) -> Session:
    with Session.create(path, meta=META) as made:
        made.append(Exchange(ExchangeInfo(endpoint="other", path="/v1/models"), b""))
        made.append(Exchange(ExchangeInfo(endpoint="chat", path="/v1/chat/completions"), BODY))
    return Session.open(path)


def test_the_backend_counts_where_no_profile_is_named(tmp_path: Path) -> None:
    with session(tmp_path / "a.cachediag") as opened:
        assert asked(opened) == "chat"
        known = recorded(Outgoing(opened), None)
        assert known is not None
        assert known.name == "vllm-mlx 0.4.1"
        assert chosen(opened, None) == ("vllm-mlx@0.4.1", "mlx-lm")
        assert chosen(opened, None, "vllm") == ("vllm-mlx@0.4.1", "vllm")
        assert chosen(opened, "generic") == ("generic", None)
        choice = choice_for(opened, None, "qwen3")
        assert choice.counter.profile.name.startswith("vllm-mlx@0.4.1")
        assert (choice.engine_spec, choice.model) == ("mlx-lm", "qwen3")


def test_a_collection_knows_no_backend() -> None:
    exchange = Exchange(ExchangeInfo(endpoint="chat", path="/v1/chat/completions"), BODY)
    opened = numbered("two", [exchange])
    assert recorded(opened, None) is None
    assert chosen(opened, None) == (None, None)
    assert asked(numbered("none", [])) == "messages"
