import time

import pytest

from cachediag.backends.asking import Response, get, get_all, is_near
from tests.backends.answers import answer, serving, there


def test_what_a_server_answers():
    answers = {"/a": answer({"x": 1}, Server="here"), "/b": answer("no json")}
    with serving(answers) as (url, _):
        found = there(get(f"{url}/", "/a"))
        assert found == Response(200, {"server": "here"}, b'{"x": 1}')
        assert found.json == {"x": 1}
        assert there(get(url, "/b")).json is None
        missing = there(get(url, "/c"))
        assert (missing.status, missing.json, missing.text) == (404, None, "")


def test_a_redirect_is_not_followed():
    answers = {"/a": answer("", 302, Location="/b"), "/b": answer("{}")}
    with serving(answers) as (url, asked):
        assert there(get(url, "/a")).status == 302
        assert asked == ["/a"]


def test_nobody_there():
    assert get("http://127.0.0.1:9", "/health", timeout=0.5) is None
    assert get("file:///etc", "/passwd") is None
    assert get("http://[::1", "/health") is None


def test_no_more_is_asked_after_the_deadline():
    with serving({"/a": answer("{}")}) as (url, asked):
        assert get_all(url, ["/a"], deadline=time.monotonic() - 1) == {}
        assert asked == []
        assert list(get_all(url, ["/a", "/b"])) == ["/a", "/b"]


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000", True),
        ("http://[::1]:8000", True),
        ("http://192.168.7.2", True),
        ("http://10.1.2.3:1/x", True),
        ("http://100.100.1.2:8000", True),
        ("http://169.254.3.4", True),
        ("http://[::ffff:192.168.7.2]", True),
        ("https://1.1.1.1", False),
        ("http://[2606:4700::1111]", False),
        ("http://[::ffff:1.1.1.1]", False),
        ("nonsense", False),
        ("http://", False),
    ],
)
def test_what_is_near(url, near):
    assert is_near(url) is near
