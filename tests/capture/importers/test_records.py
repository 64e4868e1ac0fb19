import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.capture.importers.records import exchange_of
from cachediag.capture.masking import Secrets
from cachediag.errors import InputError
from cachediag.model import Exchange, Usage

BODY = (
    b'{"model" : "m",  "max_tokens":5,"messages":[ {"role":"user","content":"\\u00e9 \xc3\xa9"}] }'
)
ANSWER = b'{"model": "got", "usage": {"input_tokens":  3}}'
KEY = "sk-ant-secret-of-the-user-0123456789"


def one(document: bytes) -> Exchange:
    exchange = exchange_of(document, Secrets())
    assert exchange is not None
    return exchange


def quoted(text: bytes) -> bytes:
    return json.dumps(text.decode()).encode()


@pytest.mark.parametrize(
    "key",
    [
        "body",
        "request",
        "request_body",
        "requestBody",
        "raw_request",
        "payload",
        "params",
        "json",
        "data",
        "input",
        "kwargs",
    ],
)
def test_the_bodys_own_bytes_are_kept(key: str) -> None:
    name = json.dumps(key).encode()
    assert one(b'{"id": 1, ' + name + b": " + BODY + b' , "x": {}}').request == BODY
    assert one(b"{" + name + b":" + quoted(BODY) + b"}").request == BODY
    assert one(b"{" + name + b":" + quoted(b" " + BODY + b"\n") + b"}").request == (
        b" " + BODY + b"\n"
    )
    assert one(b'{"event": 7, "request": {' + name + b": " + BODY + b"}}").request == BODY


def test_a_bare_body_is_its_own_record() -> None:
    got = one(b" " + BODY + b"\n")
    assert got.request == BODY
    assert (got.info.endpoint, got.info.path, got.info.method, got.info.model) == (
        "messages",
        "/v1/messages",
        "POST",
        "m",
    )
    assert (got.info.started, got.info.status, got.info.notes) == (None, None, ())


@pytest.mark.parametrize(
    ("body", "endpoint", "path"),
    [
        (b'{"messages":[{"role":"system","content":"x"}]}', "chat", "/v1/chat/completions"),
        (b'{"model":"m","input":"hi"}', "responses", "/v1/responses"),
        (b'{"model":"m","input":[]}', "responses", "/v1/responses"),
    ],
)
def test_the_protocol_is_told_by_the_body(body: bytes, endpoint: str, path: str) -> None:
    got = one(body)
    assert (got.request, got.info.endpoint, got.info.path) == (body, endpoint, path)


def test_what_else_the_record_says_is_taken_along() -> None:
    record = (
        b'{"request": {"method": "POST", "url": "https://h.example/v1/messages?beta=true",'
        b' "timestamp": 1700000000.5, "headers": {"User-Agent": "cli", "x-api-key": "%s"},'
        b' "body": %s}, "response": {"status_code": 200, "headers": [["Content-Type", "a/json"]],'
        b' "body": %s}}' % (KEY.encode(), BODY, ANSWER)
    )
    got = one(record)
    assert (got.request, got.response) == (BODY, ANSWER)
    info = got.info
    assert (info.endpoint, info.path, info.started, info.status) == (
        "messages",
        "/v1/messages?beta=true",
        1700000000.5,
        200,
    )
    assert (info.headers, info.response_headers) == (
        {"user-agent": "cli"},
        {"content-type": "a/json"},
    )
    assert (info.response_model, info.usage) == ("got", Usage(input_tokens=3))
    assert KEY not in repr(got)


@pytest.mark.parametrize(
    ("response", "content"),
    [
        (ANSWER, ANSWER),
        (quoted(ANSWER), ANSWER),
        (b'"data: {\\"x\\": 1}\\n\\n"', b'data: {"x": 1}\n\n'),
        (b'{"status": 200, "body_raw": "data: 1\\n"}', b"data: 1\n"),
        (b'{"status": 200, "body": null, "text": "t"}', b"t"),
        (b"null", b""),
        (b"[]", b""),
    ],
)
def test_the_response_is_kept_where_there_is_one(response: bytes, content: bytes) -> None:
    assert one(b'{"body":' + BODY + b',"response":' + response + b"}").response == content


@pytest.mark.parametrize(
    ("time", "started"),
    [
        (b"1700000000", 1.7e9),
        (b"1700000000250", 1700000000.25),
        (b'"2023-11-14T22:13:20Z"', 1.7e9),
        (b'"yesterday"', None),
        (b"true", None),
        (b"-1", None),
        (b"{}", None),
    ],
)
def test_times_are_read_in_their_usual_spellings(time: bytes, started: float | None) -> None:
    assert one(b'{"timestamp":' + time + b',"body":' + BODY + b"}").info.started == started


def test_a_batch_line_names_its_endpoint() -> None:
    got = one(
        b'{"custom_id":"1","method":"POST","url":"/v1/messages/count_tokens","body":' + BODY + b"}"
    )
    assert got.info.endpoint == "count_tokens"
    got = one(b'{"url":"/my/llm","params":' + BODY + b"}")
    assert (got.info.endpoint, got.info.path) == ("messages", "/my/llm")


@pytest.mark.parametrize(
    "document",
    [
        b"{}",
        b'{"messages": "none"}',
        b'{"model": "m", "prompt": "legacy"}',
        b'{"input": "no model"}',
        b'{"model": "e", "input": "x", "encoding_format": "float"}',
        b'{"body": null, "data": "{not json"}',
        b'{"body": "plain", "json": 3}',
        b'{"a":' + BODY + b"}",
    ],
)
def test_a_record_without_a_body_has_none(document: bytes) -> None:
    assert exchange_of(document, Secrets()) is None


def test_a_body_that_a_logger_cut_is_no_body() -> None:
    with pytest.raises(InputError, match="the body inside the record: JSON ends too early"):
        exchange_of(b'{"body":' + quoted(BODY[:-9]) + b"}", Secrets())


def test_odd_values_beside_the_body_do_no_harm() -> None:
    got = one(
        b'{"url": 7, "method": [], "status": "ok", "headers": {"accept": 1}, "response": 5,'
        b' "timestamp": null, "body":' + BODY + b"}"
    )
    assert (got.request, got.info.path, got.info.status) == (BODY, "/v1/messages", None)
    got = one(b'{"headers": [3, ["a"], {"name": 1}, ["accept", "x"]], "body":' + BODY + b"}")
    assert got.info.headers == {"accept": "x"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["body", "request", "response", "headers", "url", "data", "messages"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(json_values, st.booleans(), st.booleans())
def test_no_record_is_too_odd(value: object, spaced: bool, ascii_only: bool) -> None:
    separators = (" , ", " : ") if spaced else (",", ":")
    document = json.dumps({"data": value}, separators=separators, ensure_ascii=ascii_only).encode()
    exchange = exchange_of(document, Secrets())
    assert exchange is None or exchange.request in document or b'"' in exchange.request


def test_a_text_is_taken_as_it_stands_whatever_its_encoding_is_said_to_be():
    headers = {"content-encoding": "deflate", "content-type": "text/plain"}
    record = {"body": json.loads(BODY), "headers": headers}
    record["response"] = {"status": 200, "headers": headers, "body": "hi there"}
    exchange = exchange_of(json.dumps(record).encode(), Secrets())
    assert exchange is not None
    assert json.loads(exchange.request) == json.loads(BODY)
    assert exchange.response == b"hi there"
    assert exchange.info.response_headers == exchange.info.headers == {"content-type": "text/plain"}
    assert exchange.info.notes == ()
