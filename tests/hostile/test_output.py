"""What captured text can do to the output of every command: nothing."""

import ast
import csv
import inspect
import io
import json
import os
import pty
import re
import subprocess
import sys
import termios
import tomllib
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree as ET

import pytest
from typer import Typer

from cachediag.cli import app
from cachediag.errors import (
    CachediagError,
    InputError,
    SessionError,
    UpstreamError,
    UsageError,
)
from cachediag.rules.exports import EXPORTERS
from cachediag.rules.file import parse_rules, write_rules
from tests.cli.running import Ran, ran
from tests.conftest import ROOT, Received, Reply, Server
from tests.fix.patch.sites import KNOWN, installed
from tests.hostile.poison import FILE_NAME, INJECTED, MARK, POISON, SOME, body, flows, record, rules
from tests.verify.sessions import turn

_WIDE = "500"
_STYLE = re.compile(r"\x1b\[([\d;]*)m")
# What rich writes to keep a line up to date: none of it is in the poison.
_LIVE = re.compile(r"\x1b\[\?25[lh]|\r?\x1b\[1A\x1b\[2K|\r\x1b\[2K|\r(?=\n|\Z)|\r\n")
_PROPOSED = re.compile(r"^#? *(?:next +)?cachediag [a-z]|--request-model")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_INDEXED = re.compile(r"[34]8;5;\d+")
# Of which the poison would have some; no report blinks, or has a blue ground.
_STYLES_OF_POISON = {"5", "44"}
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]")
_INVISIBLE_TOO = re.compile("[\U000e0100-\U000e01ef]")
_LINE = re.compile(rf"^[ #]*{INJECTED}", re.MULTILINE)


def unfit(text: str, *, is_terminal: bool = False, is_live: bool = False) -> list[str]:
    """What in an output would act on a terminal, or deceives who looks at it."""
    if is_terminal:
        if is_live:
            text = _LIVE.sub("", text)
        styles = [_INDEXED.sub("", each) for each in _STYLE.findall(text)]
        bad = [each for each in styles if _STYLES_OF_POISON & {*each.split(";")}]
        text = _STYLE.sub("", text)
    else:
        bad = []
    bad += sorted({ascii(c) for c in text if c != "\n" and not c.isprintable()})
    bad += sorted({ascii(c) for c in _INVISIBLE.findall(text) + _INVISIBLE_TOO.findall(text)})
    bad += ["flood of marks"] * (_longest_flood(text) > 5)
    bad += ["injected line"] * bool(_LINE.search(text))
    return bad


def _longest_flood(text: str) -> int:
    longest = now = 0
    for c in text:
        now = now + 1 if unicodedata.category(c) in ("Mn", "Me") else 0
        longest = max(longest, now)
    return longest


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def is_document(text: str) -> None:
    assert text.isascii()
    made = json.loads(text, parse_constant=_no_constant)
    assert json.dumps(made, indent=2) + "\n" == text


def is_rows(text: str) -> None:
    for line in text.splitlines():
        assert line.isascii()
        assert isinstance(json.loads(line, parse_constant=_no_constant), dict)


def is_table(text: str) -> None:
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert rows
    for row in rows:
        assert len(row) == len(head)
        for cell in row:
            assert not unfit(cell)
            assert "\n" not in cell
            assert cell[:1] not in tuple("=+-@") or re.fullmatch(r"-?[\d.e-]+", cell)


def is_rule_file(text: str) -> None:
    assert not unfit(text)
    tomllib.loads(text)
    assert parse_rules(text, "rules.toml").rules


def is_script(text: str) -> None:
    """Shell lines that only set variables."""
    assert not unfit(text)
    for line in text.splitlines():
        assert not line or line.startswith("#") or re.fullmatch(r"export [A-Z_0-9]+=[\w./:]+", line)


def is_text(text: str) -> None:
    assert not unfit(text)


_CHECKS: dict[str, Callable[[str], None]] = {
    "text": is_text,
    "json": is_document,
    "jsonl": is_rows,
    "csv": is_table,
    "rules": is_rule_file,
    "shell": is_script,
}


@dataclass(frozen=True)
class Case:
    """A command, and what it writes to stdout."""

    words: tuple[str, ...]
    """In braces what `place` holds."""
    writes: str = "text"
    codes: tuple[int, ...] = (0,)

    def __str__(self) -> str:
        return " ".join(self.words)


def case(words: str, writes: str = "text", *codes: int) -> Case:
    return Case(tuple(words.split()), writes, codes or (0,))


def both(words: str, *codes: int) -> list[Case]:
    """In text and in JSON."""
    return [case(words, "text", *codes), case(f"{words} --format json", "json", *codes)]


def each_kind(words: str, writes: str, *codes: int, request: int = 0) -> list[Case]:
    """A command for one request of each kind of poison."""
    numbers = (5 * kind + request for kind in range(len(POISON)))
    return [case(words.format(n=number, n2=number + 2), writes, *codes) for number in numbers]


CASES: dict[str, list[Case]] = {
    "analyze": [
        *both("analyze"),
        case("analyze --profile vllm-mlx@0.3.0 --model qwen2.5 {har}"),
        case("analyze --format csv", "csv"),
        case("analyze --format jsonl", "jsonl"),
        *both("analyze {folder} {none} {small} -o {out}/rows.parquet --workers 1", 2),
        case("analyze --lane {evil}"),
        case("analyze --engine {evil}", "text", 2),
        case("analyze --profile {evil}", "text", 2),
        case("analyze --model {evil}", "text", 2),
        case("analyze --tokenizer {evil}", "text", 2),
        case("analyze --dask {evil} {small}", "text", 2, 3),
        case("analyze --format {evil}", "text", 2),
        case("analyze --{evil}", "text", 2),
    ],
    "demo": [*both("demo"), case("demo --release {evil}", "text", 2)],
    "diff": [
        case("diff {session}"),
        *both("diff"),
        *both("diff {folder}"),
        *both("diff {har}"),
        case("diff {jsonl}"),
        *each_kind("diff {{session}} --pair {n}:{n2}", "text"),
        case("diff --pair 5:7 --profile vllm-mlx@0.3.0 --model qwen2.5"),
        *both("diff {a} {b}"),
        case("diff {binary}", "text", 2),
        case("diff {broken}", "text", 2),
        case("diff --pair {evil}", "text", 2),
    ],
    "doctor": [
        *both("doctor --backend {url}"),
        case("doctor --backend {evil}", "text", 2),
        case("doctor --backend http://127.0.0.1:1/{evil}"),
    ],
    "explain": [case("explain V01"), case("explain {evil}", "text", 2)],
    "fix apply": [
        *both("fix apply {small} {rules} --dry-run"),
        *both("fix apply {small} {rules} -o {out}/{number}{evil}.cachediag"),
        case("fix apply {small} {rules} -o {small}", "text", 2),
    ],
    "fix env": [
        case("fix env", "shell"),
        case("fix env --format json", "json"),
        case("fix env {billing}", "shell"),
        case("fix env {billing} --settings", "json"),
        *both("fix env {billing} --write --file {settings}"),
        *both("fix env --undo --file {settings}"),
        case("fix env {billing} --write --file {binary}", "text", 2),
    ],
    "fix patch": [
        *both("fix patch --site {site} --dry-run"),
        case("fix patch --site {strange} --dry-run", "text", 2),
        case("fix patch --python {evil}", "text", 2),
    ],
    "fix unpatch": [*both("fix unpatch --site {site} --dry-run")],
    "fix status": [
        *both("fix status {small} --site {strange} --backend {url}"),
        case("fix status --backend {evil}", "text", 2, 3),
        case("fix status --profile {evil}", "text", 2),
    ],
    "fix strip": [
        case("fix strip --rules {rules} --upstream {bad} -- {client}"),
        case("fix strip --rules {binary} -- {client}", "text", 2),
    ],
    "import": [
        case("import {har} {jsonl} {folder} {a} {flows} -o {out}/{number}{evil}.cachediag"),
        case("import {binary} -o {out}/x.cachediag", "text", 2),
    ],
    "lint": [
        *both("lint {small}", 1),
        case("lint {folder}", "text", 1),
        *each_kind("lint {{session}} --emit structural-tag --request {n} --syntax hermes", "json"),
        case("lint --emit structural-tag --request 0", "text", 2),
        case("lint --emit structural-tag --request 0 --syntax {evil}", "text", 2),
        *both("lint {a} --live --backend {bad} --request-model {evil}", 1, 3),
        case("lint {a} --live --backend {url}", "text", 2),
    ],
    "record": [
        case("record --upstream {bad} -o {out}/{evil}.cachediag --rules {rules} -- {client}"),
        case("record --upstream {evil} -- {client}", "text", 2),
        case("record --upstream {url} -- {evil}", "text", 127),
    ],
    "rules check": [
        *both("rules check {small} {rules}", 1),
        case("rules check {small} {strange_rules}", "text", 2),
    ],
    "rules explain": [
        *each_kind("rules explain {{session}} {{rules}} {n}", "text", request=1),
        *both("rules explain {small} {rules}"),
        case("rules explain {small} {rules} {evil}", "text", 2),
    ],
    "rules export": [
        case("rules export {rules} --to litellm -o {out}/litellm_rules.py"),
        case("rules export {rules} --to asgi -o {out}/asgi_rules.py"),
        case("rules export {rules} --to mitmproxy -o {out}/mitmproxy_rules.py"),
        case("rules export {rules} --to claude-code-router -o {out}/{evil}.js"),
        case("rules export {rules} --to {evil} -o {out}/x", "text", 2),
    ],
    "rules new": [
        case("rules new", "rules"),
        case("rules new {har} -o {out}/{number}{evil}.toml"),
    ],
    "sessions": both("sessions"),
    "show": [
        *both("show {session}"),
        *each_kind("show {{session}} {n}", "text", request=2),
        *both("show 2"),
        case("show {evil}x", "text", 2),
        case("show {session} {evil}", "text", 2),
    ],
    "simulate": [
        case("simulate {scenario}"),
        case("simulate {scenario} --format json", "json"),
        case("simulate --sweep --repeats 1 --replicas 2"),
        case("simulate --repeats 1 --policy random --export {out}/{number}{evil}.jsonl"),
        case("simulate --policy {evil}", "text", 2),
        case("simulate {strange_scenario}", "text", 2),
        case("simulate {binary}", "text", 2),
    ],
    "verify": [
        *both("verify {billing} --backend {url} --repeats 1 --request-model {evil}", 0, 1),
        case("verify --backend {url} --repeats 1 --rules {rules} --request-model x", "text", 3),
        case("verify --backend {bad} --repeats 1 --request-model x", "text", 3),
        case("verify --backend {url} --lane {evil}", "text", 2),
        case("verify --backend {evil}", "text", 2, 3),
        case("verify --sandbox {evil}", "text", 2),
    ],
}
ALL = [pytest.param(each, id=str(each)) for group in CASES.values() for each in group]


_NUMBERS = count(1)
_CLIENT = """\
#!{python}
import http.client, json, os, urllib.parse
base = urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"])
for number, line in enumerate(open({bodies!r}, "rb")):
    asked = http.client.HTTPConnection(base.hostname, base.port, timeout=10)
    headers = {{"user-agent": b"\\x1b[5;44m\\x9bP0ISON", "x-claude-code-agent-id": b"\\x1b[5m[/]"}}
    asked.request("POST", "/v1/messages?\\x1b[5;44m".replace("\\x1b", "%1b"), line, headers)
    try:
        asked.getresponse().read()
    except (OSError, http.client.HTTPException):
        pass
"""


_TOLD = ("/v1/models", "/health", "/openapi.json", "/v1/status", "/v1/cache/stats")


def _told(url_path: str) -> Any:
    text = "".join(POISON.values())
    return {
        "/v1/models": {"data": [{"id": each, "owned_by": "vllm-mlx"} for each in POISON.values()]},
        "/health": {"engine_type": text, "status": text, "model_name": text},
        "/openapi.json": {"info": {"title": "vllm-mlx API", "version": text}, "paths": {text: {}}},
        "/v1/status": {"status": text},
        "/v1/cache/stats": {
            "cachediag_prefix_cache": {"state": "off", "reason": text, "counters": {text: text}}
        },
    }.get(url_path)


def _good(request: Received, reply: Reply) -> None:
    if request.method != "POST":
        found = _told(request.path)
        reply.body(json.dumps(found).encode(), 404 if found is None else 200)
        return
    text = "".join(POISON.values())
    delta = {"type": "text_delta", "text": text}
    message = {"role": "assistant", "model": text, "id": text, "content": []}
    usage = {"input_tokens": 900, "cache_read_input_tokens": 1, "output_tokens": 1, text: text}
    events = (
        {"type": "message_start", "message": message},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "message_delta", "delta": {"stop_reason": text}, "usage": usage},
        {"type": "message_stop"},
    )
    reply.stream(*(b"data: %s\n\n" % json.dumps(each).encode() for each in events))


def _bad(request: Received, reply: Reply) -> None:
    if request.method != "POST":
        _good(request, reply)
        return
    error = json.dumps({"error": {"type": "x", "message": "".join(POISON.values())}}).encode()
    reply.raw(
        b"HTTP/1.1 500 \x1b[5;44mP0ISON\x9b\x1b]0;P0ISON\x07\r\ncontent-length: %d\r\n"
        b"server: \x1b[5;44mP0ISON\x07\r\nx-\x1b[5m: \x9b\r\n\r\n%s" % (len(error), error)
    )


_NUMBERS = count(1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files, all of them in a directory of an evil name."""
    root = tmp_path_factory.mktemp("hostile") / FILE_NAME
    sessions = root / "sessions"
    for each in (sessions, root / "out", root / "bodies", root / ".claude"):
        each.mkdir(parents=True)
    session, small = root / "all.cachediag", sessions / f"{FILE_NAME}.cachediag"
    record(session)
    record(small, SOME)
    os.utime(small, (2e9, 2e9))
    # A session that is none.
    (sessions / f"[red]{FILE_NAME}.cachediag").write_text(FILE_NAME, "utf-8", "surrogateescape")
    pairs = [json.dumps(body(text, number)) for text in SOME for number in (0, 2)]
    for number, pair in enumerate(pairs):
        (root / "bodies" / f"{number:03}{FILE_NAME}.json").write_text(pair)
    (root / f"broken{FILE_NAME}.json").write_bytes(b'{"messages": [\x1b[5m')
    (root / f"{FILE_NAME}.jsonl").write_text("\n".join(pairs))
    (root / f"{FILE_NAME}.har").write_text(json.dumps(_har(pairs)))
    (root / f"{FILE_NAME}.toml").write_text(write_rules(rules()))
    (root / f"{FILE_NAME}.binary").write_bytes(bytes(range(256)) * 9)
    billing = [turn(number).decode() for number in range(3)]
    agent = {"user-agent": "claude-cli/2.1.113"}
    (root / f"billing{FILE_NAME}.har").write_text(json.dumps(_har(billing, agent)))
    (root / ".claude" / "settings.json").write_text(
        json.dumps({"env": {"CLAUDE_CODE_ATTRIBUTION_HEADER": "".join(POISON.values())}})
    )
    quoted = [
        json.dumps(each, ensure_ascii=False).replace("\x7f", r"\u007f")
        for each in POISON.values()
        if each != POISON["half"]
    ]
    (root / f"scenario{FILE_NAME}.toml").write_text(
        f"""version = 1
about = {quoted[0]}
policies = ["random", "sagemaker"]
repeats = 1
assumed = [{", ".join(quoted)}]
[workload]
kind = "shared-prefix"
requests = 20
prefix_tokens = 600
prefixes = 2
suffix_tokens = {{ mean = 40, deviation = 4, least = 20 }}
output_tokens = {{ mean = 20, deviation = 1, least = 10 }}
clients = 2
[server]
prefill_rate = 800
decode_rate = 40
batch_rate = 80
[fleet]
replicas = 2
"""
    )
    client = root / f"client{FILE_NAME}"
    bodies = str(root / f"{FILE_NAME}.jsonl")
    client.write_text(
        _CLIENT.format(python=sys.executable, bodies=bodies), "utf-8", "surrogateescape"
    )
    client.chmod(0o700)
    installed(root / "strange", b"# \x1b[5;44mP0ISON\x9b\n", "\x1b[5;44mP0ISON")
    installed(root / "site")
    (root / f"strange{FILE_NAME}.toml").write_text(
        f"version = 1\n[[rule]]\nid = 'a'\n{json.dumps(FILE_NAME[:8])} = 1\n"
    )
    (root / f"bad scenario{FILE_NAME}.toml").write_text(
        f"version = 1\nabout = 'x'\n[workload]\nkind = {json.dumps(FILE_NAME[:8])}\n"
    )
    flows(root / f"{FILE_NAME}.mitm")
    return {
        "root": str(root),
        "session": str(session),
        "small": str(small),
        "none": str(sessions / f"[red]{FILE_NAME}.cachediag"),
        "broken": str(root / f"broken{FILE_NAME}.json"),
        "strange": str(root / "strange"),
        "strange_rules": str(root / f"strange{FILE_NAME}.toml"),
        "strange_scenario": str(root / f"bad scenario{FILE_NAME}.toml"),
        "flows": str(root / f"{FILE_NAME}.mitm"),
        "folder": str(root / "bodies"),
        "a": str(root / "bodies" / f"000{FILE_NAME}.json"),
        "b": str(root / "bodies" / f"001{FILE_NAME}.json"),
        "jsonl": str(root / f"{FILE_NAME}.jsonl"),
        "har": str(root / f"{FILE_NAME}.har"),
        "billing": str(root / f"billing{FILE_NAME}.har"),
        "rules": str(root / f"{FILE_NAME}.toml"),
        "scenario": str(root / f"scenario{FILE_NAME}.toml"),
        "binary": str(root / f"{FILE_NAME}.binary"),
        "settings": str(root / ".claude" / f"{FILE_NAME}.json"),
        "site": str(root / "site"),
        "out": str(root / "out"),
        "client": str(client),
        "evil": FILE_NAME,
    }


def _har(bodies: list[str], headers: dict[str, str] | None = None) -> dict[str, Any]:
    named = [{"name": name, "value": value} for name, value in (headers or {}).items()]
    texts = list(POISON.values())
    return {
        "log": {
            "creator": {"name": texts[0], "version": texts[0]},
            "entries": [
                {
                    "startedDateTime": "2026-11-29T10:00:00Z" if number else texts[1],
                    "time": 1,
                    "request": {
                        "method": "POST",
                        "url": f"http://{texts[0]}/v1/messages?{texts[number % len(texts)]}",
                        "headers": named or [{"name": "user-agent", "value": texts[number % 22]}],
                        "postData": {"mimeType": texts[0], "text": each},
                    },
                    "response": {
                        "status": 200,
                        "statusText": texts[0],
                        "headers": [{"name": "server", "value": texts[number % len(texts)]}],
                        "content": {"mimeType": texts[0], "text": texts[0]},
                    },
                }
                for number, each in enumerate(bodies)
            ],
        }
    }


@pytest.fixture
def words(
    made: dict[str, str],
    serve: Callable[..., Server],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Case], list[str]]:
    """The words of a case, in a place where everything is poisoned."""
    # Else matplotlib would look through all fonts anew.
    monkeypatch.setenv("MPLCONFIGDIR", str(Path.home() / ".cache" / "matplotlib"))
    monkeypatch.setattr("cachediag.fix.patch.state.releases", lambda: KNOWN)
    monkeypatch.setenv("CACHEDIAG_HOME", made["root"])
    monkeypatch.setenv("HOME", made["root"])
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{made['root']}/.claude")
    monkeypatch.setenv("CLAUDE_CODE_TOTAL_TOKENS_REMINDER", FILE_NAME)
    monkeypatch.setenv("COLUMNS", _WIDE)

    def fill(case: Case) -> list[str]:
        names = {**made, "number": str(next(_NUMBERS))}
        for name, answer in (("url", _good), ("bad", _bad)):
            if f"{{{name}}}" in case.words:
                server = serve(answer)
                names[name] = server.url
                for path in _TOLD:
                    server.told[path] = json.dumps(_told(path)).encode()
        return [each.format(**names) for each in case.words]

    return fill


@pytest.fixture
def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")


def commands(group: Typer, prefix: str = "") -> Iterator[tuple[str, Callable[..., object]]]:
    """Every command of the app by its whole name."""
    for command in group.registered_commands:
        assert command.callback is not None
        yield f"{prefix}{command.name}", command.callback
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        yield from commands(inner.typer_instance, f"{prefix}{inner.typer_instance.info.name} ")


def test_every_command_has_a_case_in_every_format():
    found = dict(commands(app))
    assert set(found) == set(CASES)
    for name, callback in found.items():
        assert all(str(each).startswith(name) for each in CASES[name])
        options = inspect.signature(callback).parameters
        if "format_" in options:
            formats = {str(each) for each in type(options["format_"].default)}
            written = {"shell" if each.writes == "text" else each.writes for each in CASES[name]}
            assert formats - {"text"} <= written
            assert "shell" in written


def checked(done: Ran, case: Case, *, is_terminal: bool) -> None:
    assert done.code in case.codes, ascii(done.err[-600:])
    err = unfit(done.err, is_terminal=is_terminal, is_live=True)
    assert not err, ascii(done.err)
    if done.code in (0, 1):
        if case.writes == "text":
            out = unfit(done.out, is_terminal=is_terminal)
            assert not out, ascii(done.out)
        else:
            _CHECKS[case.writes](done.out)
    assert len(done.out) + len(done.err) < 2_000_000


@pytest.mark.parametrize("case", ALL)
def test_on_a_terminal(case, words, capsys, on_a_terminal):
    checked(ran(capsys, *words(case)), case, is_terminal=True)


FEW = [pytest.param(group[0], id=str(group[0])) for group in CASES.values() if len(group) > 1]


@pytest.mark.parametrize("case", FEW)
def test_in_a_pipe(case, words, capsys):
    done = ran(capsys, *words(case))
    checked(done, case, is_terminal=False)
    assert not unfit(done.err)


PROPOSING = [
    case("show"),
    case("sessions"),
    case("diff {small}"),
    case("analyze {small} --profile generic"),
    case("lint {small}"),
    case("rules check {small} {rules}"),
    case("rules new {har} -o {out}/{number}{evil}.toml"),
    case("fix apply {small} {rules} -o {out}/{number}{evil}.cachediag"),
    case("fix status {small}"),
    case("fix env {billing}"),
    case("simulate {small} --repeats 1 --policy random"),
    case("verify {a} --backend {url}"),
]


@pytest.mark.parametrize("each", PROPOSING, ids=str)
def test_a_proposed_command_holds_names_as_words_alone(
    each, words, capsys, on_a_terminal, monkeypatch
):
    given = words(each)
    monkeypatch.setenv("COLUMNS", "5000")
    done = ran(capsys, *given)
    lines = _STYLE.sub("", _LIVE.sub("", done.out + done.err)).splitlines()
    told = [line for line in lines if _PROPOSED.search(line)]
    assert any(MARK in line for line in told)
    for line in told:
        assert MARK not in _QUOTED.sub("", line)


def on_a_pty(words: list[str]) -> str:
    """What a command writes to a real terminal; output and messages alike."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, int(_WIDE)))
    command = [sys.executable, "-m", "cachediag", *words]
    environment = os.environ | {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, close_fds=True
    )
    os.close(theirs)
    written = b""
    try:
        # At its end a read fails.
        with suppress(OSError):
            while part := os.read(ours, 65536):
                written += part
        assert process.wait(30) in (0, 3)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return written.decode()


@pytest.mark.parametrize(
    "each",
    [
        case("diff {jsonl}"),
        case("show {session} 2 --body"),
        case("show {session} 3 --response"),
        case("record --upstream {bad} --rules {rules} -- {client}"),
        case("lint {a} --live --backend {bad} --request-model {evil}"),
    ],
    ids=str,
)
def test_on_a_real_terminal(each, words):
    shown = on_a_pty(words(each))
    assert not unfit(shown.replace("\r\n", "\n"), is_terminal=True, is_live=True), ascii(shown)
    assert MARK in shown


@pytest.mark.parametrize("name", EXPORTERS)
def test_a_script_holds_rules_as_data_alone(name, words, capsys, made):
    end = "js" if name == "claude-code-router" else "py"
    target = Path(made["out"]) / f"data_{name.replace('-', '_')}.{end}"
    export = ("rules", "export", "{rules}", "--to", name, "-o", str(target).replace("{", "{{"))
    assert ran(capsys, *words(Case(export))).code == 0
    script = target.read_text()
    if end == "js":
        (table,) = re.findall(r"^const RULES = \[\n(.*?)^\];$", script, re.MULTILINE | re.DOTALL)
        lines = [json.loads(line.rstrip(",")) for line in table.splitlines()]
        assert [each["id"] for each in lines] == [rule.id for rule in rules().enabled]
        assert [each.get("value") for each in lines] == [rule.value for rule in rules().enabled]
        rest = script.replace(table, "")
    else:
        tree = ast.parse(script)
        (held,) = [
            node.value
            for node in tree.body
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "RULES"
        ]
        assert isinstance(held, ast.Tuple)
        assert (ast.get_source_segment(script, held) or "").isascii()
        for call, rule in zip(held.elts, rules().enabled, strict=True):
            assert isinstance(call, ast.Call)
            given = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
            assert (given["id"], given.get("value")) == (rule.id, rule.value)
        rest = ast.unparse(tree).replace(ast.unparse(held), "")
    code = "\n".join(line for line in rest.splitlines() if not line.startswith(("#", "//")))
    assert MARK not in code
    assert INJECTED not in code
    assert not unfit(script)


def test_a_plot_holds_no_element_of_a_name(words, capsys, made):
    plot = Path(made["out"]) / "plot.svg"
    given = ("simulate", "--repeats", "1", "--policy", "random", "--plot", str(plot))
    assert ran(capsys, *words(Case(given))).code == 0
    text = plot.read_text(encoding="utf-8")
    assert not unfit(text)
    names = {each.tag.rpartition("}")[2] for each in ET.fromstring(text).iter()}
    assert not names & {"script", "img", "image", "a", "foreignObject"}
    attributes = {name for each in ET.fromstring(text).iter() for name in each.attrib}
    assert not any(name.startswith("on") for name in attributes)


@pytest.mark.parametrize(
    "kind", [CachediagError, UsageError, InputError, SessionError, UpstreamError]
)
def test_an_error_is_one_line_and_a_remedy(kind, capsys, monkeypatch):
    text = "".join(POISON.values())

    def fail(*_: object, **__: object) -> NoReturn:
        raise kind(text, where=text, remedy=text)

    monkeypatch.setattr("cachediag.cli.app", fail)
    done = ran(capsys)
    assert done.code == kind.exit_code
    assert done.out == ""
    assert len(done.err.splitlines()) == 2
    assert not unfit(done.err)


def test_a_megabyte_in_one_text_fills_no_terminal(tmp_path, capsys, words):
    long = "\x1b[5m" + "L" * 1_000_000
    path = tmp_path / "long.jsonl"
    made = body("x"), {**body("x", 1), "model": long}
    made[1]["system"][1]["text"] = long
    made[1]["tools"][0]["name"] = long
    path.write_text("\n".join(map(json.dumps, made)))
    for given in (("diff", path, "--pair", "0:1"), ("show", path, "1")):
        done = ran(capsys, *given)
        assert done.code == 0
        assert not unfit(done.out + done.err)
        assert len(done.out) + len(done.err) < 40_000
