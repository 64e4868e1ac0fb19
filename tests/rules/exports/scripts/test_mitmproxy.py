"""The addon, called as mitmproxy calls it."""

import gzip
from typing import Any

import pytest
from mitmproxy.test.tflow import tflow

from cachediag.rules.exports.scripts.mitmproxy import CachediagRules


def flow(body: bytes | None, **more: Any) -> Any:
    made = tflow(resp=True)
    made.request.method = "POST"
    made.request.path = "/v1/messages?beta=true"
    made.request.raw_content = body
    made.request.headers["content-length"] = str(len(body or b""))
    for name, value in more.items():
        setattr(made.request, name, value)
    return made


def test_a_request_is_changed_with_its_length(sent, ruled):
    made = flow(sent)
    CachediagRules().request(made)
    assert made.request.raw_content == ruled
    assert made.request.headers["content-length"] == str(len(ruled))


def test_a_compressed_one_stays_compressed(sent, ruled):
    made = flow(gzip.compress(sent))
    made.request.headers["content-encoding"] = "gzip"
    CachediagRules().request(made)
    assert gzip.decompress(made.request.raw_content) == ruled
    assert made.request.headers["content-encoding"] == "gzip"


def test_one_that_no_rule_changes_is_not_written_anew(ruled):
    packed = gzip.compress(ruled, 1)
    made = flow(packed)
    made.request.headers["content-encoding"] = "gzip"
    CachediagRules().request(made)
    assert made.request.raw_content is packed


@pytest.mark.parametrize("more", [{"method": "PUT"}, {"path": "/v1/responses"}])
def test_others_are_left_alone(sent, more):
    made = flow(sent, **more)
    CachediagRules().request(made)
    assert made.request.raw_content == sent
    CachediagRules().responseheaders(made)
    assert made.response.stream is False


@pytest.mark.parametrize("body", [None, b"no gzip"])
def test_what_cannot_be_read_passes(body, caplog):
    made = flow(body)
    made.request.headers["content-encoding"] = "gzip"
    CachediagRules().request(made)
    assert made.request.raw_content == body
    assert len(caplog.records) == (body is not None)


def test_a_response_streams_unless_another_addon_sees_to_it(sent):
    made = flow(sent)
    CachediagRules().responseheaders(made)
    assert made.response.stream is True

    def watch(chunk: bytes) -> bytes:
        return chunk

    made.response.stream = watch
    CachediagRules().responseheaders(made)
    assert made.response.stream is watch
