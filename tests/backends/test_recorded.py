import pytest

from cachediag.backends import Recognised
from cachediag.backends.recorded import Recorded, from_meta, to_meta

FOUND = Recognised(
    kind="vllm-mlx",
    version="0.3.0",
    variant="SimpleEngine",
    sure="exact",
    evidence="x",
    profile="vllm-mlx@0.3.0",
)


def test_what_is_kept_and_taken_again():
    meta = to_meta(FOUND, ("messages", "count_tokens"))
    assert meta == {
        "backend": "vllm-mlx 0.3.0, SimpleEngine",
        "backend_version": "0.3.0",
        "backend_endpoints": "messages count_tokens",
        "profile": "vllm-mlx@0.3.0",
    }
    known = Recorded("vllm-mlx 0.3.0, SimpleEngine", "vllm-mlx@0.3.0", None)
    assert from_meta(meta, "messages") == known
    assert from_meta(meta, "chat") is None


def test_a_cache_of_its_own():
    ollama = Recognised(kind="ollama", sure="exact", evidence="x", engine="ollama")
    meta = to_meta(ollama, ("chat",))
    assert from_meta(meta, "chat") == Recorded("ollama", "generic", "ollama")
    assert from_meta(meta | {"engine": "new"}, "chat") == Recorded("ollama", "generic", None)


def test_a_sandbox_that_keeps_the_billing_header():
    meta = to_meta(FOUND, ("messages",)) | {"profile": "vllm-mlx@0.3.0:strip=off"}
    known = from_meta(meta, "messages")
    assert known is not None
    assert known.profile == "vllm-mlx@0.3.0:strip=off"


@pytest.mark.parametrize(
    "profile",
    ["", "new", "vllm-mlx@", "vllm-mlx@new", "vllm-mlx@0.3", "mlx-lm@1.2.3", "vllm-mlx:tools=x"],
)
def test_what_is_not_known_here_says_nothing(profile):
    meta = to_meta(FOUND, ("messages",)) | {"profile": profile}
    assert from_meta(meta, "messages") is None
    assert from_meta({}, "messages") is None
