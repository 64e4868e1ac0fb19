import gzip
import json

from cachediag.capture.exchange import RawExchange, assemble
from cachediag.capture.masking import Secrets
from cachediag.model import Usage

OLD = "sk-ant-oat01-first-token-1111"
NEW = "sk-ant-oat01-second-token-2222"
DELTA = b'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}\n\n'
STREAM = ((b"Content-Type", b"text/event-stream; charset=utf-8"),)


def raw(**fields) -> RawExchange:
    return RawExchange(
        **{
            "endpoint": "messages",
            "method": "POST",
            "path": "/v1/messages",
            "headers": (),
            "body": b"{}",
        }
        | fields
    )


def test_what_the_exchange_says_is_read_out_and_nothing_else_is_changed():
    body = b'{ "model" : "m" , "messages":[ ] }\n'
    answer = b'{"model":"m-1","usage":{"input_tokens":7,"output_tokens":2}}'
    exchange = assemble(
        raw(
            path="/api/v1/messages?beta=true",
            headers=((b"User-Agent", b"na\xc3\xafve \xff"), (b"X-Api-Key", OLD.encode())),
            body=body,
            started=1.0,
            status=200,
            response_headers=((b"Content-Type", b"application/json"), (b"Request-Id", b"r1")),
            chunks=((2.5, answer[:9]), (2.6, answer[9:])),
            first_byte=2.0,
            ended=3.0,
        ),
        Secrets(),
    )
    info = exchange.info
    assert (exchange.request, exchange.response) == (body, answer)
    assert (info.request_size, info.response_size) == (len(body), len(answer))
    assert (info.started, info.first_byte, info.first_token, info.ended) == (1.0, 2.0, None, 3.0)
    assert (info.model, info.response_model) == ("m", "m-1")
    assert info.usage == Usage(input_tokens=7, output_tokens=2)
    assert info.path == "/api/v1/messages?beta=true"
    assert info.headers == {"user-agent": "naïve �"}
    assert info.response_headers == {"content-type": "application/json", "request-id": "r1"}
    assert info.notes == ()
    assert info.error is None


def test_the_first_token_is_timed_when_its_line_is_whole():
    start = b'data: {"type":"message_start","message":{}}\n\n'
    pieces = (start, DELTA[:30], DELTA[30:-2], DELTA[-2:], DELTA)
    chunks = tuple((float(when), piece) for when, piece in enumerate(pieces))
    info = assemble(raw(response_headers=STREAM, chunks=chunks), Secrets()).info
    assert info.first_token == 3.0


class Counted(bytes):
    looked_at = 0

    def rfind(self, *args):
        Counted.looked_at += len(self)
        return super().rfind(*args)


def test_a_line_without_end_is_looked_at_once():
    pieces = [Counted(b"x" * 1000) for _ in range(1000)]
    chunks = (*((1.0, piece) for piece in pieces), (2.0, b"\n\n" + DELTA))
    exchange = assemble(raw(response_headers=STREAM, chunks=chunks), Secrets())
    assert exchange.info.first_token == 2.0
    assert exchange.response == b"x" * 1_000_000 + b"\n\n" + DELTA
    assert Counted.looked_at == 1_000_000


def test_the_first_token_is_found_behind_an_encoding():
    packed = gzip.compress(DELTA)
    chunks = ((1.0, packed[:15]), (2.0, packed[15:]))
    headers = (*STREAM, (b"Content-Encoding", b"gzip"))
    exchange = assemble(raw(response_headers=headers, chunks=chunks), Secrets())
    assert exchange.response == DELTA
    assert exchange.info.first_token == 2.0
    assert exchange.info.notes == ("response: content-encoding gzip undone",)


def test_a_response_that_broke_off_is_decoded_as_far_as_it_got():
    packed = gzip.compress(DELTA * 2000)
    headers = (*STREAM, (b"Content-Encoding", b"gzip"))
    exchange = assemble(
        raw(response_headers=headers, chunks=((1.0, packed[: len(packed) // 2]),), error="gone"),
        Secrets(),
    )
    assert exchange.response.startswith(DELTA)
    assert (DELTA * 2000).startswith(exchange.response)
    assert exchange.info.error == "gone"


def test_credentials_in_use_are_masked_wherever_they_turn_up():
    body = json.dumps({"messages": [{"content": f"env: KEY={OLD} {OLD}"}]}).encode()
    exchange = assemble(
        raw(
            path=f"/v1/messages?token=another-secret-value&beta={OLD}",
            headers=((b"Authorization", b"Bearer " + OLD.encode()), (b"User-Agent", OLD.encode())),
            body=body,
            response_headers=(
                (b"Set-Cookie", b"id=cookie-secret-value"),
                (b"Server", OLD.encode()),
            ),
            chunks=((1.0, b"bad key " + OLD.encode() + b" or cookie-secret-value"),),
            error=f"cannot use {OLD} of another-secret-value",
        ),
        Secrets(),
    )
    stars = b"*" * len(OLD)
    assert exchange.request == body.replace(OLD.encode(), stars)
    assert exchange.response == b"bad key " + stars + b" or " + b"*" * len("cookie-secret-value")
    assert exchange.info.path == "/v1/messages?token=redacted&beta=redacted"
    assert exchange.info.headers == {"user-agent": "redacted"}
    assert exchange.info.response_headers == {"server": "redacted"}
    assert exchange.info.error == "cannot use redacted of redacted"
    assert exchange.info.notes == (
        "request: a credential masked in 2 places",
        "response: a credential masked in 2 places",
    )


def test_a_token_stays_masked_in_the_history_after_it_was_refreshed():
    secrets = Secrets()
    history = f"KEY={OLD}".encode()
    headers = [((b"authorization", b"Bearer " + token.encode()),) for token in (OLD, NEW)]
    first = assemble(raw(headers=headers[0], body=history), secrets)
    second = assemble(raw(headers=headers[1], body=history), secrets)
    assert first.request == second.request == b"KEY=" + b"*" * len(OLD)


def test_a_remote_tool_server_token_is_masked():
    body = b'{"mcp_servers":[{"authorization_token":"mcp-server-secret"}]}'
    exchange = assemble(raw(body=body), Secrets())
    assert exchange.request == body.replace(b"mcp-server-secret", b"*" * 17)


def test_a_placeholder_masks_no_ordinary_text():
    body = b'{"messages":[{"content":"how does lm-studio cache?"}]}'
    exchange = assemble(raw(headers=((b"x-api-key", b"lm-studio"),), body=body), Secrets())
    assert exchange.request == body
    assert exchange.info.headers == {}


def test_bytes_that_are_no_text_are_no_trouble():
    exchange = assemble(
        raw(
            path="/v1/messages?\udcff\x00",
            headers=((b"\xff", b"\xff"), (b"content-encoding", b"\xff")),
            body=b"\x80\x81",
            response_headers=((b"content-type", b"\xff"),),
            chunks=((1.0, b"\xff\xfe"),),
        ),
        Secrets(),
    )
    assert (exchange.request, exchange.response) == (b"\x80\x81", b"\xff\xfe")
    assert exchange.info.model is None
    assert exchange.info.usage is None


def test_what_went_on_is_kept_where_it_says_something_else():
    def outgoing(body, sent=b"{}", headers=((b"content-encoding", b"gzip"),)):
        went = gzip.compress(body) if headers else body
        made = raw(body=sent, outgoing=went, outgoing_headers=headers)
        exchange = assemble(made, Secrets())
        return exchange.outgoing, exchange.info.outgoing_size, exchange.info.notes

    undone = ("outgoing: content-encoding gzip undone",)
    assert outgoing(b'{"a":1}') == (b'{"a":1}', 7, undone)
    assert outgoing(b'{"a":1}', headers=()) == (b'{"a":1}', 7, ())
    # Another encoding of the same body is the same body.
    assert outgoing(b"{}") == (None, None, ())
    assert assemble(raw(), Secrets()).outgoing is None


def test_what_went_on_is_masked_as_the_request_is():
    sent = f'{{"said":"{OLD}"}}'.encode()
    went = f'{{"say":"{OLD} {NEW}"}}'.encode()
    made = raw(
        headers=((b"x-api-key", OLD.encode()),),
        body=sent,
        outgoing=went,
        # An addon has put another key in the place of the client's.
        outgoing_headers=((b"x-api-key", NEW.encode()),),
        chunks=((1.0, NEW.encode()),),
    )
    exchange = assemble(made, Secrets())
    assert exchange.outgoing == b'{"say":"%s %s"}' % (b"*" * len(OLD), b"*" * len(NEW))
    assert exchange.request == b'{"said":"%s"}' % (b"*" * len(OLD))
    assert exchange.response == b"*" * len(NEW)
    assert exchange.info.notes == (
        "request: a credential masked in 1 places",
        "response: a credential masked in 1 places",
        "outgoing: a credential masked in 2 places",
    )
