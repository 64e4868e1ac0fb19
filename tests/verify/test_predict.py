from cachediag.model import Exchange
from cachediag.verify.predict import Prediction
from cachediag.verify.send import Answer
from tests.verify.sessions import choice, session, turn

NOTHING = Answer(b"", None, 0.0, None, 0.0)


def test_requests_are_played_one_by_one_to_one_cache() -> None:
    played = Prediction(choice("conversation-slots"))
    items = session(turn(1), turn(1), turn(0)).items
    first, second, _ = (played.of(each, NOTHING) for each in items)
    assert first.reused_tokens == 0
    # The last token is fed again.
    assert second.reused_tokens == second.prompt_tokens - 1
    assert Prediction(choice("conversation-slots")).of(items[0], NOTHING).reused_tokens == 0


def test_what_the_engine_generated_is_played_where_it_keeps_it() -> None:
    body = (
        b'{"model":"m","messages":[{"role":"user","content":"Hello"}%s],"max_tokens":1,'
        b'"stream":false}'
    )
    went_on = b',{"role":"assistant","content":"Ship one"},{"role":"user","content":"?"}'
    reply = b'{"choices":[{"message":{"content":"Ship"},"finish_reason":"length"}]}'
    info = session(turn(0)).items[0].info
    from dataclasses import replace

    info = replace(info, endpoint="chat", path="/v1/chat/completions")
    found = []
    for answer in (NOTHING, Answer(reply, "application/json", 0.0, None, 0.0)):
        played = Prediction(_mlx_lm())
        first = played.of(Exchange(info, body % b""), answer)
        found.append(
            played.of(Exchange(info, body % went_on), NOTHING).reused_tokens - first.prompt_tokens
        )
    # Of `Ship one` it has `Ship`.
    assert found == [0, 1]


def _mlx_lm():
    from cachediag.analysis.choice import choose

    return choose("chat", profile_spec="mlx-lm", model_spec="qwen2.5")
