"""Chat templates come with models that somebody else made: each ends, in time and in memory."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings

from cachediag.errors import InputError
from cachediag.render.profiles import profile
from cachediag.render.rendered import Piece
from cachediag.render.templates import limits
from cachediag.render.templates import template as from_name
from cachediag.render.templates.directory import from_directory
from cachediag.render.templates.jinja import Jinja
from cachediag.render.turns import Talk, Turn
from tests.hostile.strategies import BODIES
from tests.hostile.test_bodies import ENDPOINTS, parsed

TALK = Talk((), (Turn.of("user", (Piece("hello there", 0),)),), (0,), ())
ENDLESS = (
    "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
    "{% endfor %}{% endfor %}{% endfor %}"
)


def rendered(source: str) -> str:
    return Jinja("model", {"default": source}, {}).render(TALK).text


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__class__.__base__ }}",
        "{{ (messages|attr('append'))(1) }}",
        "{{ cycler.__init__.__globals__.os }}",
        "{{ raise_exception.__globals__['json'] }}",
        "{{ '{0.__class__}'.format(messages) }}{{ messages.append(1) }}",
        "{{ self.__init__.__globals__ }}",
        "{{ messages[0].update({'content': 'other'}) }}",
        "{% set x = messages[0].__setitem__ %}{{ x('content', 'other') }}",
    ],
)
def test_nothing_is_reached_from_a_template(source):
    with pytest.raises(InputError, match="the chat template refuses the request"):
        rendered(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ 1 / 0 }}",
        "{{ range(10**12) }}",
        "{{ (10**9)**(10**9) }}",
        "{{ 'x' * 10**10 }}",
        "{{ 10**10 * 'x' }}",
        "{{ [0] * 10**10 }}",
        "{{ messages * 10**7 }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% macro f(n) %}{{ f(n + 1) }}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
        "{% include 'other' %}",
        "{% import 'os' as os %}",
        "{% for %}",
        "{{ ",
        "{{ " + "(" * 5_000,
        "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
        "{% if 1 %}" * 2_000,
        "{% for a in [1] %}" * 100 + "{% endfor %}" * 100,
        "{{ lipsum(n=10**9) }}",
        "{{ 'a.b'|urlize }}",
        "{{ ('x' * 10).encode('none') }}",
        "{{ messages[0]['content'].index('nothing') }}",
        "{{ strftime_now(7) }}",
        "{{ raise_exception('line\nline\n' * 1000) }}",
    ],
)
def test_a_template_that_cannot_be_rendered_is_refused(source):
    with pytest.raises(InputError, match="the chat template refuses the request") as caught:
        rendered(source)
    # It is not for the time that it is given.
    assert "it takes" not in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    "source",
    [
        ENDLESS,
        "{% macro f(n) %}{% if n %}{{ f(n - 1) ~ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
        "{% for a in range(9) recursive %}{{ loop(range(9)) if loop.depth < 60 }}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) if b < 0 %}{% endfor %}{% endfor %}",
    ],
)
def test_a_template_that_never_ends_is_stopped_once(source, monkeypatch):
    template = Jinja("model", {"default": source}, {})
    # Were it tried once more, that would never end.
    for seconds in (0.3, 1e9):
        monkeypatch.setattr(limits, "SECONDS", seconds)
        with pytest.raises(InputError, match="takes longer than 0 s"):
            template.render(TALK)


_SCRIPT = """
import resource, sys
from cachediag.errors import InputError
from cachediag.render.templates import limits
from tests.hostile.test_templates import rendered
limits._MEMORY = 1 << 28
before = resource.getrlimit(resource.RLIMIT_AS)
try:
    rendered(sys.argv[1])
except InputError as error:
    print(error.message)
# Not `ru_maxrss`: that is at least what the process had from which this one was forked.
status = open("/proc/self/status").read()
print(int(status.split("VmHWM:")[1].split()[0]) >> 10)
print(resource.getrlimit(resource.RLIMIT_AS) == before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only there the memory can be held to")
@pytest.mark.parametrize(
    "source",
    [
        "{% set n = namespace(x='xxxxxxxx') %}"
        "{% for a in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
        "{{ '%10000000000d' % 1 }}",
        "{{ ('x' * 10**6).replace('x', 'y' * 10**6) }}",
    ],
)
def test_a_template_takes_no_more_memory_than_it_may(source):
    run = subprocess.run(
        [sys.executable, "-c", _SCRIPT, source], capture_output=True, text=True, check=True
    )
    said, size, is_restored = run.stdout.splitlines()
    assert said == "the chat template refuses the request: it takes too much memory"
    assert int(size) < 500
    assert is_restored == "True"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("chat_template.jinja", b"\xff\xfe{{ x }}"),
        ("tokenizer_config.json", b"\xff"),
        ("tokenizer_config.json", b"[" * 100_000),
        ("tokenizer_config.json", b"[]"),
        ("tokenizer_config.json", b'{"chat_template": 5}'),
        ("tokenizer_config.json", b'{"chat_template": [5, {"name": 1}, {"name": []}, {}]}'),
        ("tokenizer_config.json", b'{"chat_template": [{"name": "default"}]}'),
        ("tokenizer_config.json", b'{"chat_template": ' + b"9" * 5_000 + b"}"),
    ],
)
def test_a_directory_without_a_template_is_named(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        from_directory(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_special_tokens_of_any_type_are_given(tmp_path):
    tokens = {"bos_token": [1, {"a": 2}], "eos_token": {"content": None}, "pad_token": 1e999}
    config = {"chat_template": "{{ bos_token }}{{ pad_token }}", **tokens}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert from_directory(tmp_path).render(TALK).text == "[1, None]inf"


PROFILES = ("vllm-mlx@0.2.6", "vllm-mlx@0.6.0", "mlx-lm", "llama.cpp", "vllm", "generic")
PRINTS_ALL = (
    "{% for tool in tools or [] %}{{ tool|tojson }}{% endfor %}"
    "{% for message in messages %}{{ message.role }}: {{ message.content }}"
    "{{ message.reasoning_content }}{% for call in message.tool_calls or [] %}"
    "{{ call.function.name }}{{ call.function.arguments|tojson }}{% endfor %}{% endfor %}"
)


@pytest.mark.parametrize("name", [*PROFILES, "anthropic"])
@settings(max_examples=20, deadline=None)
@given(BODIES)
def test_any_body_is_rendered_or_refused(name, body):
    for template in (from_name("qwen2.5"), Jinja("all", {"default": PRINTS_ALL}, {})):
        backend = profile(name, template)
        for endpoint in ENDPOINTS:
            prompt = parsed(body, endpoint)
            if prompt is None:
                continue
            try:
                made = backend.render(backend.arrange(prompt))
            except InputError:
                continue
            assert "".join(piece.text for piece in made.pieces) == made.text
            blocks = {piece.block for piece in made.pieces} - {None}
            assert blocks <= set(range(prompt.block_count))
            assert made.last_user is None or 0 <= made.last_user <= len(made.text)
