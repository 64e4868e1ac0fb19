import http.client
import select
import socket
import ssl
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
import trustme

from cachediag.capture import proxy as proxy_module
from cachediag.capture.proxy import Forward, Reverse, is_loopback, running_proxy
from cachediag.errors import UsageError

PATH = "/v1/messages"


def answer_with(text: bytes):
    return lambda request, reply: reply.body(text)


def get(url: str, path: str = PATH, connection=None) -> tuple[int, bytes]:
    connection = connection or HTTPConnection(urlsplit(url).netloc, timeout=10)
    connection.request("POST", path, b"{}")
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, content


def test_each_origin_has_a_port_of_its_own(serve, confdir):
    one, two = serve(answer_with(b"one")), serve(answer_with(b"two"))
    with running_proxy(Reverse((one.url, two.url)), addons=[], confdir=confdir) as proxy:
        assert list(proxy.urls) == [one.url, two.url]
        assert proxy.base_url == proxy.urls[one.url]
        assert get(proxy.urls[one.url]) == (200, b"one")
        assert get(proxy.urls[two.url]) == (200, b"two")
        assert not proxy.stopped.is_set()
    assert proxy.stopped.is_set()
    assert one.received[0].headers["host"] == one.url.removeprefix("http://")
    with pytest.raises(ConnectionRefusedError):
        get(proxy.base_url)


def test_addons_hear_of_the_end(confdir):
    heard = []

    class Listener:
        def running(self):
            heard.append("running")

        def done(self):
            heard.append("done")

    with running_proxy(Reverse(("http://127.0.0.1:9",)), addons=[Listener()], confdir=confdir):
        assert heard == ["running"]
    assert heard == ["running", "done"]


def test_a_chosen_port_is_taken_and_one_in_use_is_refused(serve, confdir):
    server = serve(answer_with(b"one"))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
        with (
            pytest.raises(UsageError) as refused,
            running_proxy(Reverse((server.url,)), addons=[], confdir=confdir, port=port),
        ):
            pass
    assert str(refused.value) == f"127.0.0.1:{port}: cannot listen there: Address already in use"
    assert "--port" in (refused.value.remedy or "")
    with running_proxy(Reverse((server.url,)), addons=[], confdir=confdir, port=port) as proxy:
        assert proxy.base_url == f"http://127.0.0.1:{port}"
        assert get(proxy.base_url) == (200, b"one")


def test_a_free_port_that_someone_else_takes_is_tried_again(serve, confdir, monkeypatch):
    free_ports = proxy_module.free_ports
    with socket.create_server(("127.0.0.1", 0)) as taken:
        choices = [[taken.getsockname()[1]]]
        monkeypatch.setattr(
            proxy_module, "free_ports", lambda *a: choices.pop() if choices else free_ports(*a)
        )
        server = serve(answer_with(b"one"))
        with running_proxy(Reverse((server.url,)), addons=[], confdir=confdir) as proxy:
            assert choices == []
            assert get(proxy.base_url) == (200, b"one")


@pytest.mark.parametrize("origin", ["http://not_a_host!:80", "gopher://x:1", "http://"])
def test_what_is_no_origin_is_refused(confdir, origin):
    with (
        pytest.raises(UsageError, match="the proxy cannot start"),
        running_proxy(Reverse((origin,)), addons=[], confdir=confdir),
    ):
        pass
    # Nothing of the failed attempt is left.
    with running_proxy(Reverse(("http://127.0.0.1:9",)), addons=[], confdir=confdir) as proxy:
        assert get(proxy.base_url)[0] == 502


def test_one_proxy_at_a_time(confdir):
    target = Reverse(("http://127.0.0.1:9",))
    with (
        running_proxy(target, addons=[], confdir=confdir),
        pytest.raises(RuntimeError),
        running_proxy(target, addons=[], confdir=confdir),
    ):
        pass


def test_the_block_s_own_error_is_what_comes_out(confdir):
    with (
        pytest.raises(ZeroDivisionError),
        running_proxy(Reverse(("http://127.0.0.1:9",)), addons=[], confdir=confdir) as proxy,
    ):
        _ = 1 / 0
    assert proxy.stopped.is_set()


def test_a_slow_prefill_is_waited_for(confdir):
    from mitmproxy import ctx
    from mitmproxy.proxy import server

    with running_proxy(Reverse(("http://127.0.0.1:9",)), addons=[], confdir=confdir):
        idle = getattr(ctx.options, "tcp_timeout", None) or server.TCP_TIMEOUT
        assert idle >= 12 * 3600


def test_an_addon_that_fails_is_told_of_once_and_harms_nobody(serve, confdir):
    class Broken:
        def request(self, flow):
            raise ValueError("no such thing sk-ant-1234567890")

    told: list[str] = []
    server = serve(answer_with(b"one"))
    with running_proxy(
        Reverse((server.url,)), addons=[Broken()], confdir=confdir, warn=told.append
    ) as proxy:
        for _ in range(3):
            assert get(proxy.base_url) == (200, b"one")
    assert told == ["mitmproxy: Addon error: no such thing redacted (ValueError)"]


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("localhost", True), ("127.8.8.8", True), ("0.0.0.0", False)],
)
def test_loopback(host, loopback):
    assert is_loopback(host) is loopback


def test_no_udp_port_is_opened_for_an_https_origin(confdir):
    with running_proxy(Reverse(("https://127.0.0.1:9",)), addons=[], confdir=confdir) as proxy:
        address = ("127.0.0.1", urlsplit(proxy.base_url).port)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(address)


def test_an_address_that_is_none(confdir):
    with (
        pytest.raises(UsageError, match="not an address"),
        running_proxy(
            Reverse(("http://127.0.0.1:9",)), addons=[], confdir=confdir, host="256.1.1.1"
        ),
    ):
        pass


def test_on_all_addresses_it_is_reached_by_loopback(serve, confdir):
    server = serve(answer_with(b"one"))
    with running_proxy(Reverse((server.url,)), addons=[], confdir=confdir, host="0.0.0.0") as proxy:
        assert proxy.base_url.startswith("http://127.0.0.1:")
        assert get(proxy.base_url) == (200, b"one")


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls(authority) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    return context


@pytest.fixture
def trusted(authority, tmp_path):
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    return str(file)


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"])
def test_an_https_upstream_is_verified_with_what_the_client_trusts(
    serve, confdir, tls, trusted, variable
):
    server = serve(answer_with(b"safe"), tls=tls)
    with running_proxy(
        Reverse((server.url,)), addons=[], confdir=confdir, environ={variable: trusted}
    ) as proxy:
        assert get(proxy.base_url) == (200, b"safe")


def test_an_https_upstream_that_is_not_trusted_is_not_talked_to(serve, confdir, tls):
    told: list[str] = []
    server = serve(answer_with(b"safe"), tls=tls)
    with running_proxy(
        Reverse((server.url,)), addons=[], confdir=confdir, environ={}, warn=told.append
    ) as proxy:
        assert get(proxy.base_url)[0] == 502
    assert server.received == []
    assert "Certificate verify failed" in told[0]


def tunnelled(proxy_url: str, server_url: str, ca_file: str):
    """A connection to an https server through an HTTP proxy."""
    proxy, server = urlsplit(proxy_url), urlsplit(server_url)
    context = ssl.create_default_context(cafile=ca_file)
    connection = http.client.HTTPSConnection(proxy.netloc, timeout=10, context=context)
    connection.set_tunnel(server.netloc)
    return connection


def test_a_forward_proxy_decrypts_the_given_hosts_only(serve, confdir, tls, trusted):
    class Listener:
        def __init__(self):
            self.heard = []

        def request(self, flow):
            self.heard.append(flow.request.pretty_url)

    listener = Listener()
    known, unknown = serve(answer_with(b"known"), tls=tls), serve(answer_with(b"unknown"), tls=tls)
    with running_proxy(
        Forward((known.url.removeprefix("https://"),)),
        addons=[listener],
        confdir=confdir,
        environ={"SSL_CERT_FILE": trusted},
    ) as proxy:
        mine = str(confdir / "mitmproxy-ca-cert.pem")
        assert get(known.url, connection=tunnelled(proxy.base_url, known.url, mine)) == (
            200,
            b"known",
        )
        # To the other host the client speaks TLS end to end: it sees that host's own certificate.
        theirs = tunnelled(proxy.base_url, unknown.url, trusted)
        assert get(unknown.url, connection=theirs) == (200, b"unknown")
        with pytest.raises(ssl.SSLCertVerificationError):
            get(unknown.url, connection=tunnelled(proxy.base_url, unknown.url, mine))
    assert listener.heard == [f"{known.url}{PATH}"]


@pytest.fixture
def office_proxy():
    """An HTTP proxy that asks for a password, as offices have them."""
    asked: list[tuple[str, str | None]] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_CONNECT(self):
            asked.append((self.path, self.headers.get("proxy-authorization")))
            host, _, port = self.path.rpartition(":")
            with socket.create_connection((host, int(port))) as beyond:
                self.send_response(200)
                self.end_headers()
                ends = {self.connection: beyond, beyond: self.connection}
                while True:
                    for ready in select.select(list(ends), [], [], 10)[0]:
                        data = ready.recv(65536)
                        if not data:
                            return
                        ends[ready].sendall(data)

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    threading.Thread(target=listener.serve_forever, args=(0.05,), daemon=True).start()
    yield f"127.0.0.1:{listener.server_port}", asked
    listener.shutdown()
    listener.server_close()


BASIC = "Basic bWU6czpjcmV0"  # me:s:cret


def test_an_upstream_is_reached_through_the_office_proxy(
    serve, confdir, tls, trusted, office_proxy
):
    address, asked = office_proxy
    plain, safe = serve(answer_with(b"plain")), serve(answer_with(b"safe"), tls=tls)
    target = Reverse((safe.url, plain.url), via={safe.url: f"http://me:s%3Acret@{address}"})
    with running_proxy(
        target, addons=[], confdir=confdir, environ={"SSL_CERT_FILE": trusted}
    ) as proxy:
        connection = HTTPConnection(urlsplit(proxy.base_url).netloc)
        for _ in range(2):
            connection.request("POST", PATH, b"{}")
            assert connection.getresponse().read() == b"safe"
        connection.close()
        assert get(proxy.urls[plain.url]) == (200, b"plain")
    assert asked == [(safe.url.removeprefix("https://"), BASIC)]
    assert "proxy-authorization" not in safe.received[0].headers


def test_a_forward_proxy_goes_through_the_office_proxy(serve, confdir, tls, trusted, office_proxy):
    address, asked = office_proxy
    known, unknown = serve(answer_with(b"known"), tls=tls), serve(answer_with(b"unknown"), tls=tls)
    target = Forward((known.url.removeprefix("https://"),), via=f"http://me:s%3Acret@{address}")
    with running_proxy(
        target, addons=[], confdir=confdir, environ={"SSL_CERT_FILE": trusted}
    ) as proxy:
        mine = str(confdir / "mitmproxy-ca-cert.pem")
        assert get(known.url, connection=tunnelled(proxy.base_url, known.url, mine))[1] == b"known"
        theirs = tunnelled(proxy.base_url, unknown.url, trusted)
        assert get(unknown.url, connection=theirs)[1] == b"unknown"
    assert asked == [(url.removeprefix("https://"), BASIC) for url in (known.url, unknown.url)]
