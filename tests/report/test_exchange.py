from dataclasses import replace

from rich.console import Console

from cachediag.protocol import parse
from cachediag.report.exchange import ExchangeReport
from tests.analysis.sessions import recorded
from tests.compare.bodies import body


def shown(report: ExchangeReport) -> list[str]:
    console = Console(width=100, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(report)
    return [line.rstrip() for line in capture.get().splitlines()]


def test_a_request_block_by_block_with_what_was_noted() -> None:
    (exchange,) = recorded([body()])
    info = replace(exchange.info, notes=("the body was\x1b[31m cut",), error="upstream reset")
    lines = shown(ExchangeReport(info, parse(exchange.request, info.endpoint)))
    assert lines[0].startswith("request 0   POST /v1/messages")
    assert lines[2:5] == ["! the body was\\e[31m cut", "! upstream reset", ""]
    assert lines[5].split() == ["bytes", "kind", "path", "text"]
    assert any(" system[0] " in line for line in lines[6:])


def test_a_request_without_a_prompt_says_so() -> None:
    (exchange,) = recorded([body()])
    info = replace(exchange.info, endpoint="other", path="/v1/models", status=None)
    lines = shown(ExchangeReport(info, None))
    assert lines[0].startswith("request 0   POST /v1/models   no response")
    assert lines[-3:] == [
        "no prompt: not a request to a model",
        "",
        "next   cachediag show 0 --response   what came back",
    ]


def test_the_next_commands_name_the_session_as_it_was_named() -> None:
    (exchange,) = recorded([body()])
    prompt = parse(exchange.request, exchange.info.endpoint)
    assert shown(ExchangeReport(exchange.info, prompt))[-3:] == [
        "",
        "next   cachediag diff            what broke the prefixes",
        "       cachediag show 0 --body   its bytes, as they came",
    ]
    assert shown(ExchangeReport(exchange.info, prompt, "my\x1b session"))[-2:] == [
        "next   cachediag diff 'my\\e session'            what broke the prefixes",
        "       cachediag show 'my\\e session' 0 --body   its bytes, as they came",
    ]


def test_what_the_client_sent_is_compared_as_the_client_sent_it() -> None:
    (exchange,) = recorded([body()])
    prompt = parse(exchange.request, exchange.info.endpoint)
    assert shown(ExchangeReport(exchange.info, prompt, "s", incoming=True))[-2:] == [
        "next   cachediag diff s --incoming   what broke the prefixes",
        "       cachediag show s 0 --body     its bytes, as they came",
    ]
