"""HAR, JSONL and bodies with values of the wrong kind, and numbers beyond all bounds."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cachediag.capture.importers import open_source
from cachediag.session import Session
from tests.capture.importers.test_har import BODY, entry
from tests.hostile.refused import refusal
from tests.hostile.strategies import BODIES, Json

_SHARED = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_ODD = Json | st.sampled_from([10**400, -(10**30), 1e308, -1e300, float("nan"), float("inf")])


def kept(path, target):
    """Read what a file holds, and store it as `import` does."""
    with Session.create(target) as session:
        for exchange in open_source(path).exchanges():
            session.append(exchange)
    target.unlink()


def places(value, path=()):
    yield path
    named = value if isinstance(value, dict) else {}
    for name, each in enumerate(value) if isinstance(value, list) else named.items():
        yield from places(each, (*path, name))


_PLACES = [path for path in places(entry()) if path]


@given(st.sampled_from(_PLACES), _ODD)
@_SHARED
def test_any_field_of_a_har_may_hold_anything(tmp_path, place, odd):
    made = json.loads(json.dumps(entry()))
    inside = made
    for name in place[:-1]:
        inside = inside[name]
    inside[place[-1]] = odd
    path = tmp_path / "talk.har"
    path.write_text(json.dumps({"log": {"entries": [made]}}))
    error = refusal(lambda: kept(path, tmp_path / "kept.cachediag"))
    if error is not None:
        assert (str(error).startswith(f"{path}: entry 0: "), bool(error.remedy)) == (True, True)
    (tmp_path / "kept.cachediag").unlink(missing_ok=True)


@given(
    st.dictionaries(
        st.sampled_from(["timestamp", "time", "status", "url", "headers", "response", "method"]),
        _ODD,
    ),
    BODIES,
)
@_SHARED
def test_any_field_of_a_record_may_hold_anything(tmp_path, fields, body):
    path = tmp_path / "talk.jsonl"
    record = json.dumps(fields)[:-1].encode() + (b"," if fields else b"") + b'"body":'
    path.write_bytes(record + BODY.encode() + b"}\n" + record + body + b"}\n")
    kept(path, tmp_path / "kept.cachediag")


@pytest.mark.parametrize("number", ["1" + "0" * 400, "NaN", "Infinity", "1e999", "-5", "9" * 25])
def test_a_number_that_is_no_time_and_no_status_is_none(tmp_path, number):
    path = tmp_path / "talk.jsonl"
    path.write_text(f'{{"timestamp":{number},"status":{number},"body":{BODY}}}\n' * 2)
    infos = list(open_source(path).infos())
    assert [(info.started, info.status) for info in infos] == [(None, None)] * 2
    kept(path, tmp_path / "kept.cachediag")
