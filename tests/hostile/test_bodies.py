"""Request bodies that no client should send: a clear error or a right answer."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.hostile_input import armed, said
from cachediag.analysis import tokenview
from cachediag.analysis.counting import counting
from cachediag.analysis.requests import requests
from cachediag.analysis.tokenview import token_view
from cachediag.compare import compare
from cachediag.errors import InputError
from cachediag.model import Endpoint, Exchange, ExchangeInfo, Prompt
from cachediag.protocol import jsontext, parse
from tests.hostile.strategies import BODIES
from tests.hostile.work import growth

ENDPOINTS: tuple[Endpoint, ...] = ("messages", "chat", "responses", "count_tokens")
_OF_EACH = st.sampled_from(ENDPOINTS)
_HELLO = b'{"role":"user","content":"hello"}'


def parsed(body: bytes, endpoint: Endpoint | None) -> Prompt | None:
    try:
        return parse(body, endpoint)
    except InputError:
        return None


def exchange(index: int, endpoint: Endpoint, body: bytes) -> Exchange:
    return Exchange(ExchangeInfo(index=index, endpoint=endpoint, path="/"), body)


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@settings(max_examples=150, deadline=None)
@given(BODIES, _OF_EACH)
def test_the_blocks_of_a_body_stand_in_it(body, endpoint):
    prompt = parsed(body, endpoint)
    for block in prompt.blocks if prompt else ():
        assert 0 <= block.start < block.end <= len(body)
        value = jsontext.decode(body[block.start : block.end])
        assert isinstance(value, str) == block.is_string
        if block.is_string:
            assert jsontext.decode(block.canonical) == {"type": "text", "text": value}


@settings(max_examples=100, deadline=None)
@given(BODIES, _OF_EACH)
def test_a_body_held_against_itself_breaks_nothing(body, endpoint):
    a, b = parsed(body, endpoint), parsed(body, endpoint)
    if a is None or b is None:
        assert a is b
        return
    compared = compare(a, b)
    assert compared.findings == ()
    assert compared.shared_blocks == compared.reusable_blocks == a.block_count
    assert compared.first_difference is None


@settings(max_examples=150, deadline=None)
@given(BODIES, BODIES, _OF_EACH)
def test_any_two_bodies_can_be_compared(first, second, endpoint):
    a, b = parsed(first, endpoint), parsed(second, endpoint)
    if a is None or b is None:
        return
    compared = compare(a, b)
    assert 0 <= compared.shared_blocks <= b.block_count
    at = compared.first_difference
    assert at is None or 0 <= at <= len(second)
    for finding in compared.findings:
        assert finding.byte is None or 0 <= finding.byte <= len(second)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60) | st.binary(max_size=20).map(lambda tail: b'{"messages":[' + tail))
def test_any_bytes_are_told_to_be_no_body(body):
    parsed(body, None)


@pytest.mark.parametrize("levels", [129, 500, 990, 100_000])
@pytest.mark.parametrize(
    "body",
    [
        b'{"messages":[{"role":"user","content":%s}],"max_tokens":1}',
        b'{"messages":[{"role":%s,"content":"x"}],"max_tokens":1}',
        b'{"messages":[],"max_tokens":1,"tools":[{"name":"t","input_schema":%s}]}',
        b'{"messages":[],"max_tokens":1,"system":[%s]}',
        b'{"messages":[],"max_tokens":1,"metadata":%s}',
        b'{"messages":[],"max_tokens":1,"model":%s}',
    ],
)
def test_nesting_has_a_limit(body, levels):
    with pytest.raises(InputError, match="nested too deeply"):
        parse(body % nested(levels), "messages")


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_an_integer_that_python_does_not_decode_is_named(endpoint):
    number = b"9" * 5_000
    body = b'{"max_tokens":%s,"input":[{"role":"user","content":%s}],"messages":[%s]}' % (
        number,
        number,
        _HELLO,
    )
    with pytest.raises(InputError, match=r"4300 digits"):
        parse(body, endpoint)


def test_arguments_that_are_no_json_that_can_be_read_are_a_text():
    def body(spelled: str) -> bytes:
        call = {"id": "1", "type": "function", "function": {"name": "n", "arguments": spelled}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return json.dumps({"messages": [message]}).encode()

    for spelled in ("[" * 50_000, "[" * 600 + "]" * 600, "1" * 5_000):
        a, b = parse(body(spelled), "chat"), parse(body(f"{spelled} "), "chat")
        assert [finding.code for finding in compare(a, b).findings] == ["E01"]


@pytest.mark.parametrize("text", [None, True, 3, -1.5, [], {}, ["x"], {"text": "x"}])
def test_a_text_block_whose_text_is_no_text_is_compared_as_it_is(text):
    def body(text: object) -> bytes:
        block = {"type": "text", "text": text}
        messages = [{"role": "user", "content": [block]}, {"role": "assistant", "content": "ok"}]
        return json.dumps({"max_tokens": 1, "system": [block], "messages": messages}).encode()

    for first, second in ((text, "what was said"), ("what was said", text)):
        compared = compare(parse(body(first)), parse(body(second)))
        paths = {(finding.code, finding.path) for finding in compared.breaks}
        assert paths == {("V06", "system[0].text"), ("S04", "messages[0].content[0].text")}
        assert compared.reusable_blocks == 3


@pytest.mark.parametrize(
    "text",
    [
        f"{'x' * 200_000} {{}}",  # a word that is searched for what ends at its end
        f"a, b{' ' * 200_000}{{}}",  # white space that might lead to a comma
        "x-anthropic-billing-header:" * 8_000 + "{}",  # a header that might name a subagent
        f"[{json.dumps('x' * 200_000)}, {{}}]",  # a string in a text that is JSON
    ],
)
def test_no_expression_runs_away(text):
    """Each took minutes, or hours, with an expression that tries anew at every character."""

    def body(last: str) -> bytes:
        whole = text.format(last)
        messages = [{"role": "user", "content": whole}]
        return json.dumps({"max_tokens": 1, "system": whole, "messages": messages}).encode()

    exchanges = [exchange(at, "messages", body(last)) for at, last in enumerate("12")]
    found = list(requests(exchanges, exchanges.__getitem__))
    assert [request.problem for request in found] == [None, None]
    compared = compare(parse(body("1")), parse(body("2")))
    assert {str(finding.path).partition(".text")[0] for finding in compared.breaks} == {
        "system",
        "messages[0].content",
    }


Pair = tuple[bytes, bytes]


def _other(count: int) -> Pair:
    return tuple(said(f"{word}{n}" for n in range(count)) for word in "ab")  # type: ignore[return-value]


def _more(count: int) -> Pair:
    texts = [f"a{n}" for n in range(count)]
    return said(texts), said(["other", *texts])


def _fewer(count: int) -> Pair:
    tools = [(f"t{n}", 1) for n in range(count)]
    return armed(tools), armed(tools[::2])


def _namesakes(count: int) -> Pair:
    tools = [("same", n) for n in range(count)]
    return armed(tools), armed(tools[:-1])


def _turned(count: int) -> Pair:
    tools = [(f"t{n}", 1) for n in range(count)]
    return armed(tools), armed(reversed(tools))


@pytest.mark.parametrize(
    ("made", "causes"),
    [(_other, None), (_more, 1), (_fewer, 1), (_namesakes, 1), (_turned, 1)],
    ids=["every block", "a block more", "half of the tools", "one name", "all in another order"],
)
def test_the_work_grows_with_the_blocks(made, causes):
    def parsed(count: int) -> tuple[Prompt, Prompt]:
        a, b = made(count)
        return parse(a), parse(b)

    for count in (200, 3_000):
        assert len(compare(*parsed(count)).breaks) == (causes or count)
    assert growth(parsed, lambda pair: compare(*pair), 200, 2_000) < 1.1


def test_very_many_causes_are_counted_together_in_the_end(monkeypatch):
    a, b = (parse(said(f"{word}{n} is said" for n in range(400))) for word in "ab")
    counter = counting("messages").counter
    compared = compare(a, b)
    seen = token_view(compared, counter)
    assert len(compared.breaks) == 400
    assert len(seen.steps) == 65
    assert seen.shared + sum(gained for _, gained in seen.steps) == seen.reusable == seen.a
    assert seen.steps[-1][0] == ("V06", "messages[0].content[64].text")
    # Each of them takes a prompt made anew; so many do not.
    undone = list[object]()

    def counted(*given: object) -> int:
        undone.append(given)
        return 0

    monkeypatch.setattr(tokenview, "_undone", counted)
    token_view(compared, counter)
    assert len(undone) < 3 * 64


_LARGE = """
from cachediag.compare import compare
from cachediag.protocol import parse
body = b'{"max_tokens":1,"messages":[{"role":"user","content":"' + b"x" * 10**8 + b'"}]}'
assert compare(parse(body), parse(body)).findings == ()
# Not `ru_maxrss`: that is at least what the process had from which this one was forked.
status = open("/proc/self/status").read()
print(int(status.split("VmHWM:")[1].split()[0]) >> 10)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only there is the size to be read")
def test_a_hundred_megabytes_take_a_small_multiple_of_memory():
    run = subprocess.run([sys.executable, "-c", _LARGE], capture_output=True, check=True)
    assert int(run.stdout) < 1_000
