import json
from dataclasses import replace
from pathlib import Path

import pytest

from cachediag.errors import UpstreamError
from cachediag.verify.arms import ARMS
from cachediag.verify.backends import Given
from cachediag.verify.experiment import Experiment, Progress, Replay, order, run
from cachediag.verify.plan import plan
from tests.verify.sessions import STRIP, Backend, choice, session

TWO = ARMS[:2]


@pytest.fixture
def replayed(serve):
    def replay(backend: Backend, repeats: int = 2, told=None, **more) -> Experiment:
        place = Given(serve(backend.answer).url, None, "tiny")
        design = Replay(arms=TWO, repeats=repeats, headers={"x-api-key": "k"}, **more)
        by = choice(backend.engine)
        made = plan(session(), [STRIP], by, print)
        return run(made, place, {False: by}, design, told or (lambda _: None))

    return replay


def test_every_arm_is_first_in_some_round() -> None:
    names = [(repeat, arm.name) for repeat, arm in order(TWO, 3)]
    assert names == [
        (0, "as-recorded"),
        (0, "rules-only"),
        (1, "rules-only"),
        (1, "as-recorded"),
        (2, "as-recorded"),
        (2, "rules-only"),
    ]


@pytest.mark.parametrize("clears", [False, True])
@pytest.mark.parametrize("engine", ["sglang", "conversation-slots:slots=1", "mlx-lm:slots=3"])
def test_what_is_predicted_is_what_is_measured(replayed, engine, clears):
    """Salted or cleared, with what other runs left in a small cache."""
    backend = Backend(engine, clears=clears)
    made = replayed(backend)
    assert made.emptied == ("cleared" if clears else "salted")
    assert [each.predicted for each in made.measured] == [each.reused for each in made.measured]
    warm = [each for each in made.measured if each.arm == "rules-only" and each.warm]
    assert len(warm) == 6
    assert all(each.predicted > 0.8 * each.prompt_tokens for each in warm)
    cold = [each for each in made.measured if each.arm == "as-recorded" or not each.warm]
    assert all(each.predicted < 60 for each in cold)


def test_every_run_is_new_to_the_cache(replayed):
    backend = Backend()
    replayed(backend)
    # The warm-up, and four runs of four requests.
    assert len(backend.bodies) == 17
    heads = [json.loads(body)["system"][0]["text"].split("\n")[0] for body in backend.bodies]
    assert len({heads[0], *heads[1::4]}) == 5
    assert all(len(set(heads[at : at + 4])) == 1 for at in range(1, 17, 4))


def test_what_is_sent_is_the_recorded_request_with_a_short_reply(replayed, serve):
    backend = Backend(clears=True)
    replayed(backend, repeats=1)
    sent = [json.loads(body) for body in backend.bodies[1:5]]
    recorded = [json.loads(each.request) for each in session().items]
    assert sent == [{**body, "model": "tiny", "max_tokens": 1} for body in recorded]


def test_what_is_measured_of_each_request(replayed):
    made = replayed(Backend())
    assert [(each.arm, each.repeat, each.index) for each in made.measured] == [
        (arm.name, repeat, index) for repeat, arm in order(TWO, 2) for index in range(4)
    ]
    assert all(each.first_token is not None for each in made.measured)
    assert all(0 < (each.first_token or 0) <= each.total for each in made.measured)
    assert len(made.warm_ups) == 1
    assert made.arms == TWO


def test_a_backend_that_tells_nothing_is_not_taken_for_one_that_reused_nothing(replayed):
    made = replayed(Backend(tells=False))
    assert {each.reused for each in made.measured} == {None}
    assert {each.came for each in made.measured} == {None}


def test_what_was_measured_before_the_backend_failed_is_kept(replayed):
    made = replayed(Backend(fails_at=7))
    assert isinstance(made.failure, UpstreamError)
    assert "out of memory" in str(made.failure)
    assert len(made.measured) == 6
    assert made.arms == TWO


def test_what_was_measured_before_an_interrupt_is_kept(replayed):
    def told(progress: Progress) -> None:
        if progress.done == 3:
            raise KeyboardInterrupt

    made = replayed(Backend(), told=told)
    assert made.interrupted
    assert len(made.measured) == 3
    assert made.arms == TWO[:1]


def test_progress_tells_the_time_that_is_left(replayed):
    seen: list[Progress] = []
    replayed(Backend(), told=seen.append)
    assert [each.done for each in seen] == list(range(16))
    assert {each.total for each in seen} == {16}
    assert seen[0].seconds_left is None
    left = [each.seconds_left for each in seen[1:]]
    assert all(each is not None and each > 0 for each in left)


def test_recorded_headers_of_the_protocol_and_given_ones_are_sent(serve):
    backend = Backend()
    server = serve(backend.answer)
    opened = session()
    kept = {"anthropic-version": "2023-06-01", "user-agent": "x", "x-request-id": "1"}
    items = tuple(replace(each, info=replace(each.info, headers=kept)) for each in opened.items)
    made = plan(replace(opened, items=items), [], choice(), print)
    design = Replay(arms=ARMS[:1], repeats=1, headers={"x-api-key": "k"})
    run(made, Given(server.url, None), {False: choice()}, design, lambda _: None)
    posts = [each for each in server.received if each.method == "POST"]
    assert {each.path for each in posts} == {"/v1/messages?beta=true"}
    for each in posts:
        assert each.headers["anthropic-version"] == "2023-06-01"
        assert each.headers["x-api-key"] == "k"
        assert "x-request-id" not in each.headers


def test_a_log_of_the_backend_is_read(serve, tmp_path: Path):
    """What stock vllm-mlx says of a request nowhere else."""
    log = tmp_path / "server.log"
    log.write_text("INFO System KV cache HIT (stream_chat): reusing 9 tokens, prefilling 1 new\n")
    said = "INFO System KV cache HIT (stream_chat): reusing 77 tokens, prefilling 3 new\n"

    def write(number: int) -> None:
        with log.open("a") as file:
            file.write(said if number == 2 else "INFO nothing of interest\n")

    backend = Backend(tells=False, on_request=write)

    server = serve(backend.answer)
    server.told["/v1/models"] = b'{"data":[{"id":"tiny","owned_by":"vllm-mlx"}]}'
    place = Given(server.url, None, "tiny", log)
    made = plan(session(), [], choice(), print)
    done = run(made, place, {False: choice()}, Replay(arms=ARMS[:1], repeats=1, headers={}), print)
    assert [each.reused for each in done.measured] == [None, 77, None, None]
    assert done.measured[1].source == "log"
    assert done.measured[1].reported_prompt == 80
