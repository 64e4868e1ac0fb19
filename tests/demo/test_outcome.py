import io
import json

import pytest
from rich.console import Console

from cachediag.analysis import Request, requests
from cachediag.demo.client import play
from cachediag.demo.outcome import OutcomeReport, document
from cachediag.demo.script import Script
from cachediag.demo.upstream import running_upstream
from cachediag.model import Exchange, ExchangeInfo
from cachediag.report import documents
from cachediag.session.source import numbered


def analysed(bodies: list[bytes]) -> tuple[Request, ...]:
    source = numbered(
        "made up",
        (
            Exchange(ExchangeInfo(endpoint="messages", path="/v1/messages", status=200), body)
            for body in bodies
        ),
    )
    return tuple(requests(source.exchanges(), source.exchange))


@pytest.fixture(scope="module")
def sent(words: Script) -> list[bytes]:
    with running_upstream(*words.lanes) as upstream:
        play(words, upstream.url)
    return upstream.received


def printed(shown: object, width: int = 80) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None)
    console.print(shown)
    return file.getvalue()


def again(sent: list[bytes]) -> int:
    """Bytes of system and history that came a second time, strings as the blocks they stand for."""
    total, seen = 0, set[bytes]()
    for body in sent:
        request = json.loads(body)
        blocks = [*request["system"][1:], *blocks_of(request["messages"])]
        for block in blocks:
            block.pop("cache_control", None)
            if block["type"] == "tool_result":
                block["content"] = [{"type": "text", "text": block["content"]}]
        chain = [compact(blocks[: end + 1]) for end in range(len(blocks))]
        total += sum(
            len(compact(block))
            for block, prefix in zip(blocks, chain, strict=True)
            if prefix in seen
        )
        seen.update(chain)
    return total


def blocks_of(messages: list[dict[str, object]]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for message in messages:
        content = message["content"]
        found += content if isinstance(content, list) else [{"type": "text", "text": content}]
    return found


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def test_the_verdict_says_how_many_and_how_much(sent: list[bytes]) -> None:
    verdict = document("demo", analysed(sent))["verdict"]
    assert verdict == (
        "The cause is V01, billing header: system[0].text changed in 8 of 8 later requests."
        f" Behind it stand {again(sent):,} bytes of prompt that were sent before, and that a"
        " server with a prefix cache has to prefill again."
    )


def test_a_finding_is_as_in_every_document_with_its_count(sent: list[bytes]) -> None:
    found = analysed(sent)
    (listed,) = document("demo", found)["findings"]
    assert listed == documents.finding(found[2].breaks[0]) | {"requests": 8}


def test_the_rule_that_removes_it_is_a_next_step(sent: list[bytes]) -> None:
    assert document("demo", analysed(sent))["next"] == [
        "cachediag diff demo",
        "cachediag show demo 0",
        "cachediag explain V01",
        "cachediag rules new demo -o rules.toml",
        "cachediag record -- claude",
    ]


def test_without_a_break_it_says_so(sent: list[bytes]) -> None:
    found = analysed(sent[:2])
    written = document("demo", found)
    assert written["findings"] == []
    assert written["verdict"] == "No request broke the prefix that it shares with an earlier one."
    assert written["next"] == [
        "cachediag diff demo",
        "cachediag show demo 0",
        "cachediag record -- claude",
    ]
    assert str(written["verdict"]) in printed(OutcomeReport("demo", found))


@pytest.mark.parametrize("width", [80, 200])
def test_nothing_is_wider_than_it_may_be(sent: list[bytes], width: int) -> None:
    text = printed(OutcomeReport("demo", analysed(sent)), width=width)
    assert max(map(len, text.splitlines())) <= width
    verdict = text[text.index("The cause is") : text.index("\n\nnext")]
    assert max(map(len, verdict.splitlines())) <= 80
