"""What is remembered of conversations: it makes no difference, and does not grow with them."""

import gc
import json

from cachediag.model import Part, Prompt
from cachediag.protocol import Parser
from cachediag.render.conversion import reading
from cachediag.render.conversion.reading import Reader
from cachediag.render.rendered import Piece
from cachediag.render.turns import Turn

CONVERSATIONS = 200


def _turn(part: Part) -> tuple[Turn, ...]:
    return (Turn.of(part.role, (Piece(part.raw.decode(), 0),)),)


def _reader() -> Reader:
    return Reader(
        system=lambda _: None,
        messages=_turn,
        message_tool=lambda *_: None,
        chat=_turn,
        chat_tool=lambda *_: None,
    )


def _prompt(parser: Parser, conversation: int, messages: int) -> Prompt:
    talk = [{"role": "user", "content": f"{conversation} {number}"} for number in range(messages)]
    return parser.parse(json.dumps({"messages": talk}).encode(), "messages")


def test_many_conversations_are_not_all_remembered():
    parser, reader, own = Parser(), _reader(), set[Part]()
    for conversation in range(CONVERSATIONS):
        prompt = _prompt(parser, conversation, 3)
        own.update(prompt.parts("messages"))
        reader.messages(prompt)
    kept = [each for each in gc.get_objects() if isinstance(each, reading._Kept)]
    assert 0 < sum(each.parts[0] in own for each in kept) <= 64


def test_a_conversation_that_was_forgotten_is_read_as_before():
    parser, reader = Parser(), _reader()
    for messages in (2, 4):
        for conversation in range(CONVERSATIONS):
            read = reader.messages(_prompt(parser, conversation, messages))
            assert [json.loads(turn.text)["content"] for turn in read.turns] == [
                f"{conversation} {number}" for number in range(messages)
            ]
            assert read.firsts == list(range(messages))
