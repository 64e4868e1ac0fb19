"""An exported script in a mitmdump of its own, before bodies that no rule can be applied to."""

import gzip
import json
from http.client import HTTPConnection
from pathlib import Path

import pytest

from cachediag.rules.exports import Export, exporter_of
from tests.fix.material import RULES, body, header

BLOCK = json.dumps(header(1)).encode()
DEEP = 100_000
LONG = b"x" * (10 << 20)

UNCHANGED = {
    "nested deeply": b'{"system":[%b],"messages":%b}' % (BLOCK, b"[" * DEEP + b"]" * DEEP),
    "nested without end": b'{"system":[%b],"messages":' % BLOCK + b"[" * DEEP,
    "cut off": body(1)[:-1],
    "a character cut off": b'{"system":[%b],"messages":["\xf0\x9f' % BLOCK,
    "no object": b"[%b]" % BLOCK,
    "no text": bytes(range(256)) * 40,
    "nothing": b"",
    "a long text": b'{"messages":[{"role":"user","content":"%b%b"}]}' % (LONG, BLOCK[1:9]),
    "a system that is another thing": b'{"system":{"0":%b},"messages":[]}' % BLOCK,
    "a key twice, of which the last one counts": b'{"system":[%b],"system":"x","messages":[]}'
    % BLOCK,
    "a number without end": b'{"system":"x","messages":[],"n":%b}' % (b"9" * 1_000_000),
}
CHANGED = {
    "a key twice, the last counts": b'{"system":"x","system":[%b],"messages":[]}',
    "lone surrogates": b'{"system":[%b],"messages":[{"role":"user","content":"\\ud800"}]}',
    "a long text": b'{"system":[%%b],"messages":[{"role":"user","content":"%b"}]}' % LONG,
}


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("exported") / "made.py"
    export = Export(RULES.rules, Path("rules.toml"), place)
    place.write_text(exporter_of("mitmproxy").script(export), encoding="utf-8")
    return place


def test_a_body_that_no_rule_can_be_applied_to_passes_as_it_came(mitmdump, serve, script):
    upstream = serve(lambda request, reply: reply.body(b"got it"))
    running = mitmdump(str(script), "--mode", f"reverse:{upstream.url}")

    def post(sent: bytes, **headers: str) -> bytes:
        connection = HTTPConnection("127.0.0.1", running.port, timeout=60)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("POST", "/v1/messages", sent, named)
        content = connection.getresponse().read()
        connection.close()
        return content

    for what, sent in UNCHANGED.items():
        assert post(sent) == b"got it"
        assert upstream.bodies[-1] == sent, what
    for sent in (body(1), gzip.compress(body(1))[:60]):
        assert post(sent, content_encoding="gzip") == b"got it"
        assert upstream.bodies[-1] == sent
    for what, sent in CHANGED.items():
        assert post(sent % BLOCK) == b"got it"
        assert upstream.bodies[-1] == sent % b"", what
    running.ended()
