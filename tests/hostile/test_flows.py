"""Flow files that are damaged, or hold what they should not."""

import gzip
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mitmproxy import http

from cachediag.capture import encoding
from cachediag.capture.importers import open_source, wire
from cachediag.errors import InputError
from tests.capture.importers.test_flows import BODY, SSE, TARGET, flow, read, written
from tests.hostile.refused import refusal

_SHARED = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "talk.mitm"


@given(st.data())
@_SHARED
def test_a_damaged_file_is_read_or_refused_in_a_line(path, data):
    response = http.Response.make(200, SSE, {"content-type": "text/event-stream"})
    whole = written(path, flow(response=response), flow()).read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    match data.draw(st.sampled_from(["cut", "flip", "put in", "taken out"])):
        case "cut":
            made = whole[:at]
        case "flip":
            made = (
                whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
            )
        case "put in":
            made = whole[:at] + data.draw(st.binary(min_size=1, max_size=9)) + whole[at:]
        case _:
            made = whole[:at] + whole[at + data.draw(st.integers(1, 40)) :]
    path.write_bytes(made)
    error = refusal(lambda: list(open_source(path).exchanges()))
    if error is not None:
        assert isinstance(error, InputError)
        assert (error.where, "\n" in error.message, not error.remedy) == (str(path), False, False)


def test_bodies_that_unpack_to_much_together_are_refused(path, monkeypatch):
    monkeypatch.setattr(encoding, "MAX_DECODED", 3 << 20)
    monkeypatch.setattr(wire, "MAX_UNPACKED", 5 << 20)
    body = json.dumps({"model": "m", "messages": [], "pad": "x" * (2 << 20)}).encode()
    packed = flow("POST", TARGET, gzip.compress(body))
    packed.request.headers["content-encoding"] = "gzip"
    assert [e.request for e in read(path, packed, packed).exchanges()] == [body, body]
    with pytest.raises(InputError, match="flow 2: its bodies unpack to more than 5 MiB"):
        read(path, packed, packed, packed)


def test_a_bomb_is_kept_packed_and_said(path):
    bomb = gzip.compress(gzip.compress(bytes(257 << 20), 1))
    packed = flow(body=bomb)
    packed.request.headers["content-encoding"] = "gzip, gzip"
    (got,) = read(path, packed).exchanges()
    assert got.request == bomb
    (note,) = got.info.notes
    assert note == f"request: kept as sent, decodes to more than {encoding.MAX_DECODED} bytes"


@pytest.mark.parametrize("claim", [b"99999999999:", b"4294967296:", b"000000000001:"])
def test_a_length_that_is_a_lie_takes_no_memory(path, claim):
    path.write_bytes(claim + b"7:version;2:21#" + BODY)
    assert isinstance(refusal(lambda: open_source(path)), InputError)


@pytest.mark.parametrize("inner", [b"0:]", b"0:}"])
def test_values_in_one_another_without_end_are_refused(path, inner):
    made = inner
    for _ in range(3_000):
        made = b"%d:%s]" % (len(made), made)
    path.write_bytes(b"%d:7:version;%s}" % (len(made) + 10, made))
    error = refusal(lambda: open_source(path))
    assert isinstance(error, InputError)
    assert error.where == str(path)
