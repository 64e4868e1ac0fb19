"""Many clients at once: each gets its own answer as it is sent, and all of it is kept."""

from cachediag.model import Exchange
from tests.faults.load import Load, Outcome, plans
from tests.faults.net import Net
from tests.faults.recorder import Recorder

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
