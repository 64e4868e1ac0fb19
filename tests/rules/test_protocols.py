import pytest

from cachediag.protocol.endpoint import endpoint_of
from cachediag.rules.protocols import protocol_of


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/v1/messages?beta=true", "messages"),
        ("/v1/messages/count_tokens", "messages"),
        ("/api/v1/chat/completions", "chat"),
        ("/v1/responses", "responses"),
        ("/v1/responses/input_tokens", "responses"),
        ("/v1/models", None),
    ],
)
def test_a_request_is_read_by_the_protocol_of_its_path(path: str, expected: str | None) -> None:
    assert protocol_of(endpoint_of(path), path) == expected
