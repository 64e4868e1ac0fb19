from http.client import HTTPConnection

import pytest

from cachediag.capture.proxy import Forward, Reverse
from cachediag.capture.recording import confdir, plan_forward, plan_reverse, recording
from cachediag.errors import UsageError
from cachediag.session import Session


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_reverse_plan_has_one_place_for_each_server():
    plan = plan_reverse(
        {
            "ANTHROPIC_BASE_URL": "http://me:secret@mac:8000/api/",
            "HTTPS_PROXY": "http://office:3128",
        }
    )
    mac, vendor = "http://mac:8000", "https://api.openai.com:443"
    assert plan.target == Reverse((mac, vendor), via={vendor: "http://office:3128"})
    assert plan.upstreams == {mac: "http://mac:8000/api", vendor: "https://api.openai.com/v1"}


def test_one_server_for_all_has_one_place():
    plan = plan_reverse({"OPENAI_BASE_URL": "http://elsewhere/v1"}, "http://mac:8000")
    assert plan.target == Reverse(("http://mac:8000",))
    assert plan.upstreams == {"http://mac:8000": "http://mac:8000"}


def test_a_forward_plan_opens_the_model_servers_only():
    plan = plan_forward(
        {"ANTHROPIC_BASE_URL": "https://mac:8443", "https_proxy": "http://office:1"}
    )
    hosts = ("mac:8443", "api.openai.com:443", "api.anthropic.com:443")
    assert plan.target == Forward(hosts, via="http://office:1")
    assert plan.upstreams == {"": "mac:8443, api.openai.com, api.anthropic.com"}


def test_a_forward_plan_goes_straight_to_servers_that_are_reached_so():
    office = {"https_proxy": "http://office:1", "http_proxy": "http://office:1"}
    near = plan_forward(office, "http://127.0.0.1:8000")
    exempt = plan_forward({**office, "no_proxy": "mac"}, "https://mac:8443")
    assert [plan.target.via for plan in (near, exempt)] == [None, None]


def test_a_forward_plan_with_another_server_tells_the_client(serve):
    server = serve(lambda request, reply: reply.body(b"{}"))
    plan = plan_forward({}, server.url)
    with recording(confdir().parent / "x.cachediag", plan, meta={}, tell=pytest.fail) as going:
        told = plan.environment(going.proxy)
        assert told["HTTPS_PROXY"] == told["http_proxy"] == going.proxy.base_url
        assert told["ANTHROPIC_BASE_URL"] == server.url
        assert told["OPENAI_BASE_URL"] == f"{server.url}/v1"
        # A plain http server is talked to through the proxy as well.
        connection = HTTPConnection(going.proxy.base_url.removeprefix("http://"), timeout=10)
        connection.request("POST", f"{server.url}/v1/messages", b'{"model":"m"}')
        assert connection.getresponse().read() == b"{}"
        connection.request("POST", f"{server.url}/elsewhere", b"{}")
        assert connection.getresponse().read() == b"{}"
        connection.close()
    with Session.open(confdir().parent / "x.cachediag") as session:
        (exchange,) = session.exchanges()
    assert exchange.info.path == "/v1/messages"
    assert exchange.request == b'{"model":"m"}'


def test_a_recording_stores_tells_and_counts(serve, tmp_path):
    server = serve(lambda request, reply: reply.body(b"{}"))
    stored: list[int] = []
    path = tmp_path / "x.cachediag"
    with recording(
        path,
        plan_reverse({}, server.url),
        meta={"client": "test"},
        tell=pytest.fail,
        stored=lambda exchange: stored.append(exchange.info.index),
    ) as going:
        for _ in range(2):
            connection = HTTPConnection(going.proxy.base_url.removeprefix("http://"), timeout=10)
            connection.request("POST", "/v1/messages", b"{}")
            connection.getresponse().read()
            connection.close()
    assert going.lost == 0
    assert stored == [0, 1]
    with Session.open(path) as session:
        assert len(session) == 2
        assert session.meta["client"] == "test"
    assert confdir().stat().st_mode & 0o777 == 0o700


def test_what_cannot_begin_leaves_no_thread_and_no_file(tmp_path):
    path = tmp_path / "x.cachediag"
    with (
        pytest.raises(UsageError),
        recording(
            path, plan_reverse({}, "http://127.0.0.1:9"), meta={}, tell=print, host="256.1.1.1"
        ),
    ):
        pass
    assert not path.exists()
