import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cachediag.session import Session
from tests.analysis.sessions import main as main_request
from tests.analysis.sessions import recorded, sub_agent, title
from tests.cli.running import ran
from tests.compare.bodies import HEADER, body, raw
from tests.fixtures.engines import FIXTURES


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("CACHEDIAG_HOME", str(home))
    return home


@pytest.fixture
def pair(tmp_path):
    later = body()
    later["system"][0]["text"] = HEADER.format("1c8b4")
    files = tmp_path / "a.json", tmp_path / "b.json"
    files[0].write_bytes(raw(body()))
    files[1].write_bytes(raw(later))
    return files


BODIES = [
    title("x"),
    main_request(header="aaaa1"),
    main_request("t1", header="aaaa2"),
    sub_agent("Look", header="aaaa3"),
    main_request("t1", "t2", header="aaaa4"),
]


@pytest.fixture
def session(home):
    path = home / "sessions" / "2026-11-29-2341.cachediag"
    path.parent.mkdir(parents=True)
    with Session.create(path) as made:
        for exchange in recorded(BODIES):
            made.append(exchange)
    return path


def test_two_files(capsys, pair):
    done = ran(capsys, "diff", *pair)
    assert done.code == 0
    assert "✗ V01 billing header" in done.out
    assert "+ …fa9; cc_entrypoint=cli; cch=1c8b4;" in done.out
    assert done.err == ""


def test_two_files_as_json(capsys, pair):
    done = ran(capsys, "diff", *pair, "--format", "json")
    made = json.loads(done.out)
    assert made["schema"] == "cachediag.diff/1"
    assert [(f["code"], f["path"]) for f in made["findings"]] == [("V01", "system[0].text")]
    assert made["prompt_tokens"]["exact"] is False
    assert 0 < made["shared_tokens"] < made["reusable_tokens"] == made["prompt_tokens"]["a"]


def test_tokens_that_are_cut_elsewhere_are_told_of_two_files(capsys):
    case = FIXTURES / "cases" / "e05-text-before-a-call"
    pair = (str(case / "a.json"), str(case / "b.json"))
    given = ("--profile", "vllm-mlx@0.2.6", "--model", "qwen2.5")
    done = ran(capsys, "diff", *pair, *given)
    (line,) = (line for line in done.out.splitlines() if "E05" in line)
    assert line.split() == ["!", "E05", "token", "boundary", "costs", "1", "token", "confirmed"]
    made = json.loads(ran(capsys, "diff", *pair, *given, "--format", "json").out)
    (found,) = (found for found in made["findings"] if found["code"] == "E05")
    assert (found["path"], found["tokens_lost"]) == ("messages[1].content[0].text", 1)


def test_the_newest_recording_is_meant_where_none_is_named(capsys, session):
    done = ran(capsys, "diff")
    assert done.out.startswith("2026-11-29-2341   5 requests   3 lanes\n")
    assert "next   cachediag diff --pair 1:2" in done.out


def test_a_session_by_its_name(capsys, session):
    done = ran(capsys, "diff", "2026-11-29-2341", "--format", "json")
    made = json.loads(done.out)
    assert made["schema"] == "cachediag.diffs/1"
    assert [[f["code"] for f in pair["findings"]] for pair in made["pairs"]] == [
        ["N03"],
        ["N03"],
        ["V01", "N01"],
        ["N03"],
        ["V01", "N01"],
    ]


def test_a_pair_of_a_session(capsys, session):
    done = ran(capsys, "diff", "--pair", "1:4")
    assert done.out.startswith("request 1 → 4   anthropic   estimate\n")


def test_a_backend_that_strips_the_header(capsys, pair):
    done = ran(capsys, "diff", *pair, "--profile", "vllm-mlx@0.6.0")
    assert "The whole earlier prompt is shared" in done.out


def test_show_lists_and_shows_one(capsys, session):
    listed = ran(capsys, "show")
    assert listed.out.startswith("2026-11-29-2341   5 exchanges   3 lanes   ")
    one = ran(capsys, "show", "2")
    assert one.out.startswith("request 2   POST /v1/messages   no response")
    assert "messages[0].content[1]" in one.out
    assert "[cache marker]" in one.out


def test_show_as_json(capsys, session):
    made = json.loads(ran(capsys, "show", "--format", "json").out)
    assert made["schema"] == "cachediag.session/1"
    assert [(e["lane"], e["kind"]) for e in made["exchanges"]] == [
        ("title", "auxiliary"),
        ("main", "turn"),
        ("main", "turn"),
        ("agent", "subagent"),
        ("main", "turn"),
    ]
    one = json.loads(ran(capsys, "show", "2", "--format", "json").out)
    assert one["schema"] == "cachediag.exchange/1"
    assert one["blocks"][0]["path"] == "tools[0]"
    assert one["blocks"][4]["marker"] == {"type": "ephemeral", "ttl": None}


def test_show_body_writes_the_bytes_and_nothing_else(session):
    command = [sys.executable, "-m", "cachediag", "show", str(session), "3", "--body"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout == raw(BODIES[3])
    assert done.stderr == b""


def test_sessions_lists_what_was_recorded(capsys, session):
    text = ran(capsys, "sessions")
    head, row, *_ = text.out.splitlines()
    assert head.split() == ["session", "exchanges", "body", "bytes", "file", "bytes"]
    assert row.split()[:2] == ["2026-11-29-2341", "5"]
    assert "next   cachediag show 2026-11-29-2341   its requests, a line each\n" in text.out
    made = json.loads(ran(capsys, "sessions", "--format", "json").out)
    (row,) = made["sessions"]
    assert (row["name"], row["exchanges"]) == ("2026-11-29-2341", 5)
    assert row["body_bytes"] == sum(len(raw(made)) for made in BODIES)


def test_no_sessions_says_how_to_record_one(capsys):
    assert "next   cachediag record -- claude" in ran(capsys, "sessions").out
    done = ran(capsys, "diff")
    assert done.code == 2
    assert "cachediag record -- claude" in done.err


def test_import_makes_a_private_session(capsys, tmp_path):
    lines = tmp_path / "bodies.jsonl"
    lines.write_bytes(b"\n".join(raw(made) for made in BODIES))
    output = tmp_path / "made.cachediag"
    done = ran(capsys, "import", lines, "-o", output)
    assert (done.code, done.out) == (0, "")
    assert "5 exchanges in" in done.err
    assert stat.S_IMODE(output.stat().st_mode) == 0o600
    with Session.open(output) as session:
        assert [each.request for each in session.exchanges()] == [raw(made) for made in BODIES]
    assert ran(capsys, "import", lines, "-o", output).code == 2


def test_import_takes_a_new_name_where_none_is_given(capsys, tmp_path):
    lines = tmp_path / "bodies.jsonl"
    lines.write_bytes(b"\n".join(raw(made) for made in BODIES))
    for number in (1, 2):
        done = ran(capsys, "import", lines)
        assert done.code == 0, done.err
        assert "5 exchanges in" in done.err
        assert (
            len(json.loads(ran(capsys, "sessions", "--format", "json").out)["sessions"]) == number
        )
    assert ran(capsys, "diff").code == 0


def test_explain(capsys):
    page = ran(capsys, "explain", "v01")
    assert page.out.startswith("V01 billing header   break\n")
    listed = ran(capsys, "explain")
    assert len([line for line in listed.out.splitlines() if line[:1].isupper()]) == 54


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cut.json", b'{"messages": [{"role"', "JSON ends too early"),
        ("empty.json", b"", "empty"),
        ("binary", bytes(range(256)) * 9, "binary"),
        ("notes.txt", b"hello\n", "not a request body, session, flow file or HAR"),
        ("other.json", b'{"a": 1}', "no messages"),
    ],
)
def test_a_file_that_is_none_of_these(capsys, pair, name, content, message):
    bad = pair[0].with_name(name)
    bad.write_bytes(content)
    for arguments in ((bad,), (pair[0], bad)):
        done = ran(capsys, "diff", *arguments)
        assert done.code == 2
        assert done.out == ""
        first, remedy = done.err.splitlines()
        assert first.startswith(f"cachediag: {bad}: ")
        assert message in first
        assert remedy.strip()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("diff", "nowhere.json", "neither.json"), "cachediag: nowhere.json: "),
        (("diff", "a", "b", "c"), "cachediag: 3 files given"),
        (("diff", "--pair", "4"), "cachediag: --pair: '4' is no pair"),
        (("diff", "--pair", "0:9"), "no request 9"),
        (("diff", "--profile", "nobody"), "cachediag: no profile is called 'nobody'"),
        (("diff", "--profile", "vllm-mlx@new"), "cachediag: 'new' is no release of vllm-mlx"),
        (("show", "9"), "no request 9"),
        (("show", "--body"), "cachediag: --body needs a request's number"),
        (("explain", "V1"), "cachediag: no finding has the code 'V1'"),
        (("explain", "Billing"), "cachediag: no finding has the code 'Billing'"),
        (("import", "nowhere"), "cachediag: nowhere: "),
    ],
)
def test_a_mistake_is_one_line_and_what_to_do(capsys, session, arguments, message):
    done = ran(capsys, *arguments)
    assert done.code == 2
    assert done.out == ""
    first, *remedy = done.err.splitlines()
    assert message in first
    assert len(remedy) == 1


def test_a_slip_in_a_session_s_name_is_answered_with_the_name(capsys, session):
    done = ran(capsys, "diff", "2026-11-29-234")
    assert "           Did you mean 2026-11-29-2341? List what" in done.err
    assert "Did you mean" not in ran(capsys, "diff", "unlike").err


def test_a_folder_without_bodies(capsys, tmp_path):
    (tmp_path / "empty").mkdir()
    done = ran(capsys, "diff", tmp_path / "empty")
    assert done.code == 2
    assert done.err.startswith(
        f"cachediag: {tmp_path / 'empty'}: the folder holds no request bodies"
    )


def _cachediag(*arguments: object, **changes: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "cachediag", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, env={**os.environ, **changes})


def test_a_pipe_gets_no_colour_and_whole_lines(pair):
    done = _cachediag("diff", *pair)
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout
    assert "cch=1c8b4;" in done.stdout.decode()


def test_an_ascii_terminal_is_written_to_in_ascii(pair):
    done = _cachediag("diff", *pair, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert b"x V01 billing header" in done.stdout
    assert b"- ...fa9; cc_entrypoint=cli; cch=6c09a;" in done.stdout
    assert done.stdout.isascii()


def test_a_reader_that_has_enough_is_no_error(session):
    command = f"{sys.executable} -m cachediag diff --format json | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert (done.stdout, done.stderr) == (b"{\n", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "words", [("show",), ("sessions", "--format", "json"), ("show", "0", "--body"), ("--version",)]
)
def test_no_room_for_the_output_is_one_line(session, words):
    command = [sys.executable, "-m", "cachediag", *words]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "cachediag: cannot write the output (No space left on device)\n"
        "           Make room, or send the output elsewhere.\n",
    )


def test_closed_streams_are_not_written_to(session):
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        command = f"{sys.executable} -m cachediag sessions --format json {closed}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert (">&-" in closed.split()) == (not done.stdout)


@pytest.mark.parametrize("words", [("diff",), ("rules", "new", "-o"), ("analyze",)])
def test_a_name_that_no_file_can_have_is_one_line(capsys, session, words):
    name = "a" * 300
    done = ran(capsys, *words, name)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"cachediag: {name}: cannot be used (File name too long)\n")
    assert done.err.count("\n") == 2


def test_on_a_terminal_a_long_error_is_broken_between_words(capsys, monkeypatch, session):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    assert ran(capsys, "analyze", "--model", "qwen33").err == (
        "cachediag: no tokenizer, file or downloaded model is called\n"
        "           'qwen33'\n"
        "           Choose one of qwen2, qwen2.5, qwen3, qwen3.5,\n"
        "           qwen3.6, o200k, cl100k, claude, or give a\n"
        "           tokenizer.json, a tiktoken rank file or a model's\n"
        "           directory.\n"
    )


def test_a_name_that_is_longer_than_the_terminal_stays_whole(capsys, monkeypatch, session):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    name = "n" * 70
    assert ran(capsys, "diff", name).err.startswith(f"cachediag: {name}: no such file, and no")


def test_what_is_no_fault_of_a_file_stays_a_fault_of_ours(capsys, monkeypatch):
    def fail(**_: object) -> None:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr("cachediag.cli.app", fail)
    with pytest.raises(OSError, match="Bad file descriptor"):
        ran(capsys)


def test_the_version(capsys):
    assert ran(capsys, "--version").out.startswith("cachediag 0.")


def test_stdin(pair):
    done = subprocess.run(
        [sys.executable, "-m", "cachediag", "diff", "-", "--format", "json"],
        input=pair[0].read_bytes() + b"\n" + pair[1].read_bytes(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert [p["findings"][0]["code"] for p in json.loads(done.stdout)["pairs"]] == ["N03", "V01"]


def test_analyze_in_the_terminal(capsys, session):
    done = ran(capsys, "analyze", "--profile", "vllm-mlx@0.2.6", "--model", "qwen2.5")
    assert done.code == 0
    assert "profile vllm-mlx@0.2.6   tokens qwen2.5   cache none   exact" in done.out
    assert "✗ V01 system[0].text" in done.out
    assert "hit rate 0.0%, could be " in done.out
    assert "next   cachediag diff" in done.out


def test_analyze_as_json_and_as_rows(capsys, session):
    options = ("analyze", "--profile", "vllm-mlx@0.6.0", "--engine", "sglang", "--format")
    made = json.loads(ran(capsys, *options, "json").out)
    assert made["schema"] == "cachediag.analysis/1"
    assert (made["profile"], made["engine"]) == ("vllm-mlx@0.6.0", "sglang")
    assert made["totals"]["requests"] == 5
    assert made["totals"]["hit_rate"] == made["totals"]["hit_rate_ceiling"] > 0
    rows = [json.loads(line) for line in ran(capsys, *options, "jsonl").out.splitlines()]
    assert [row["prompt_tokens"] for row in rows] == [
        request["prompt_tokens"] for request in made["requests"]
    ]
    table = ran(capsys, *options, "csv").out.splitlines()
    assert table[0].startswith("index,lane,kind,parent,started,prompt_tokens,")
    assert len(table) == 6


def test_analyze_one_lane(capsys, session):
    made = json.loads(ran(capsys, "analyze", "--lane", "main", "--format", "json").out)
    assert [request["lane"] for request in made["requests"]] == ["main"] * 3


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--engine", "nobody"), "no cache model is called 'nobody'"),
        (("--profile", "nobody"), "no profile is called 'nobody'"),
        (("--profile", "mlx-lm", "--model", "nobody"), "no model is called 'nobody'"),
    ],
)
def test_analyze_with_what_there_is_not(capsys, session, option, message):
    done = ran(capsys, "analyze", *option)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
