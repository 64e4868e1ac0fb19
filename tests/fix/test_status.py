"""What is in place: which file wins, what is not read, and what a backend does of its own."""

import json
from pathlib import Path

import pytest

from cachediag.fix.settings import write
from cachediag.fix.status import Cause, backend, causes, client
from cachediag.fix.switches import clients
from cachediag.render import profile
from tests.analysis.sessions import main, recorded

(CLAUDE,) = clients()
HEADER = "CLAUDE_CODE_ATTRIBUTION_HEADER"
SENT_BY = {"user-agent": "claude-cli/2.1.113 (external, cli)"}


@pytest.fixture
def places(tmp_path):
    """The settings files by kind, and where the client is started."""
    home, project = tmp_path / "home", tmp_path / "project"
    for directory in (home / ".claude", project / ".claude"):
        directory.mkdir(parents=True)
    return {
        "home": home,
        "directory": project,
        "user": home / ".claude/settings.json",
        "project": project / ".claude/settings.json",
        "local": project / ".claude/settings.local.json",
    }


def looked(places, **environ):
    return client(CLAUDE, {"HOME": str(places["home"]), **environ}, places["directory"])


def header_of(state):
    (found,) = [each for each in state.switches if each.switch.name == HEADER]
    return found


def sets(path: Path, value: str) -> None:
    path.write_text(json.dumps({"env": {HEADER: value}}))


def test_nothing_set(places):
    state = looked(places)
    assert {(each.state, each.value, each.source) for each in state.switches} == {
        ("unset", None, None)
    }
    assert [(file.kind, file.variables.exists) for file in state.files] == [
        ("local", False),
        ("project", False),
        ("user", False),
    ]


def test_the_environment_counts_where_no_file_says_anything(places):
    found = header_of(looked(places, **{HEADER: "0"}))
    assert (found.state, found.value, found.source) == ("on", "0", "environment")


@pytest.mark.parametrize(
    ("kinds", "winner"),
    [
        (("user",), "user"),
        (("user", "project"), "project"),
        (("user", "project", "local"), "local"),
        (("local", "user"), "local"),
    ],
)
def test_the_nearest_file_wins_over_the_others_and_over_the_environment(places, kinds, winner):
    for kind in kinds:
        sets(places[kind], "0" if kind == winner else "1")
    found = header_of(looked(places, **{HEADER: "1"}))
    assert (found.state, found.source) == ("on", str(places[winner]))
    order = [kind for kind in ("local", "project", "user") if kind in kinds and kind != winner]
    overruled = [(str(places[kind]), "1") for kind in order]
    assert found.overruled == (*overruled, ("environment", "1"))


def test_a_file_that_says_otherwise_switches_it_back(places):
    sets(places["project"], "1")
    found = header_of(looked(places, **{HEADER: "0"}))
    assert (found.state, found.value, found.source) == ("other", "1", str(places["project"]))


@pytest.mark.parametrize("raw", ['{"env": {"%s": "0"} } // off', '{"env": {"%s": "0",}}'])
def test_a_file_with_comments_is_passed_over_as_the_client_does(places, raw):
    places["user"].write_text(raw % HEADER)
    state = looked(places)
    assert header_of(state).state == "unset"
    (user,) = [file for file in state.files if file.kind == "user"]
    assert (user.is_read, user.variables.exists, user.variables.problem) == (False, True, None)


def test_a_broken_file_is_told_and_passed_over(places):
    places["project"].write_text("{")
    sets(places["user"], "0")
    state = looked(places)
    assert header_of(state).source == str(places["user"])
    (project,) = [file for file in state.files if file.kind == "project"]
    assert (project.is_read, "ends too early" in project.variables.problem) == (False, True)


def test_what_cachediag_set_is_told(places):
    write(places["user"], {HEADER: "0"})
    (user,) = [file for file in looked(places).files if file.kind == "user"]
    assert (user.is_read, user.variables.can_undo) == (True, True)


def test_started_at_home_a_file_counts_once(places):
    sets(places["user"], "0")
    state = client(CLAUDE, {"HOME": str(places["home"])}, places["home"])
    assert [file.kind for file in state.files] == ["local", "project"]
    assert header_of(state).overruled == ()


SESSION = recorded(
    [main(header="aaaa1"), main("t1", header="aaaa2"), main("t1", "t2", header="aaaa3")],
    headers=dict.fromkeys(range(3), SENT_BY),
)


def found(states=(), name=None, session=SESSION):
    named = None if name is None else profile(name)
    return causes(lambda: session, session.__getitem__, named, states)


def test_a_cause_that_nothing_takes_care_of(places):
    assert found([looked(places)]) == (Cause("V01", 2, 2, ()),)


def test_a_backend_that_takes_care_of_it():
    assert found(name="vllm-mlx@0.2.6") == (Cause("V01", 2, 2, ()),)
    assert found(name="vllm-mlx@0.3.0") == (Cause("V01", 2, 0, ()),)


def test_a_switch_that_takes_care_of_it(places):
    state = looked(places, **{HEADER: "0"})
    assert found([state]) == (Cause("V01", 2, 0, (HEADER,)),)


def test_a_switch_takes_care_only_of_its_own_client(places):
    bodies = [main(header="aaaa1"), main("t1", header="aaaa2")]
    other = recorded(bodies, {index: {"user-agent": "x"} for index in range(2)})
    state = looked(places, **{HEADER: "0"})
    assert found([state], session=other) == (Cause("V01", 1, 1, ()),)


def test_a_cause_that_the_backend_brings_about():
    tokens = "<total_tokens>9 tokens left</total_tokens>"
    later = main("t1")
    later["messages"].append({"role": "system", "content": tokens})
    session = recorded([main(), later])
    assert found(session=session) == ()
    assert found(name="vllm-mlx@0.6.0", session=session) == (Cause("S07", 0, 1, ()),)


def test_what_a_backend_does_goes_by_what_is_called():
    assert [cure.codes for cure in backend(profile("vllm-mlx@0.3.0"), "chat").cures] == []
    assert [cure.codes for cure in backend(profile("vllm-mlx@0.3.0"), "messages").cures] == [
        ("V01",),
        ("S07",),
    ]
    assert backend(profile("vllm-mlx")).profile == "vllm-mlx@0.6.0"
