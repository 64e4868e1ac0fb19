"""Many clients at once: each gets its own answer as it is sent, and all of it is kept."""

import ssl
from pathlib import Path

import trustme

from cachediag.model import Exchange
from tests.faults.load import Load, Outcome, plans
from tests.faults.net import Net, Tunnel
from tests.faults.recorder import Recorder, recording

CLIENTS = 32


def agree(exchange: Exchange, outcome: Outcome) -> None:
    plan, info = outcome.plan, exchange.info
    assert exchange.request == outcome.request
    assert exchange.response == b"".join(plan.answer(outcome.request))
    assert (info.status, info.error, info.model) == (200, None, f"m-{plan.number}")
    undone = f"response: content-encoding {plan.encoding} undone"
    assert info.notes == (() if plan.encoding == "identity" else (undone,))
    times = (info.started, info.first_byte, info.first_token, info.ended)
    assert list(times) == sorted(time for time in times if time is not None)


def test_thirty_two_clients_get_their_own_answers_as_they_are_sent(net: Net, recorder: Recorder):
    load = Load()
    net.answer = load.answer
    given = list(plans(1, 3 * CLIENTS))
    outcomes = net.run(load.clients(recorder.url, given, CLIENTS))
    assert [each.plan.number for each in outcomes if not each.right] == []
    assert len(outcomes) == len(given)
    stored = {each.request: each for each in recorder.stored(len(given))}
    assert len(stored) == len(given)
    for outcome in outcomes:
        agree(stored[outcome.request], outcome)


def test_eight_clients_of_a_forward_proxy_get_their_own_answers(tmp_path: Path):
    authority = trustme.CA()
    trusted = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(trusted))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    load = Load()
    given = list(plans(6, 24, largest=18))
    with (
        Net.running(tls) as net,
        recording(net.url, tmp_path, "--mode", "forward", trusted=trusted) as recorder,
    ):
        net.answer = load.answer
        own = tmp_path / "home" / "mitmproxy" / "mitmproxy-ca-cert.pem"
        tunnel = Tunnel(recorder.url, ssl.create_default_context(cafile=own))
        outcomes = net.run(load.clients(net.url, given, 8, tunnel))
        assert [each.plan.number for each in outcomes if not each.right] == []
        stored = {each.request: each for each in recorder.stored(len(given))}
        assert recorder.end() == 0
    assert len(stored) == len(outcomes) == len(given)
    for outcome in outcomes:
        agree(stored[outcome.request], outcome)
