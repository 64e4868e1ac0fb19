import json
from itertools import accumulate

import pytest

from cachediag.errors import InputError, UsageError
from cachediag.protocol import Parser
from cachediag.render import Piece, profile, template
from cachediag.render.templates.jinja import Jinja
from cachediag.render.turns import Call, Talk, Tool, Turn, dumped
from tests.live.rendering_bodies import hard_bodies
from tests.render.bodies import TOOL, messages, posted

SIMPLE = """\
{{ bos_token }}{% if tools %}
Tools:
{% for tool in tools %}
{{ tool | tojson }}
{% endfor %}
{% endif %}
{% for message in messages %}
[{{ message.role }}] {{ message.content | trim }}{% if message.reasoning_content %} ({{ message.reasoning_content }}){% endif %}

{% for call in message.tool_calls %}
-> {{ call.function.name }} {{ call.function.arguments | tojson }}
{% endfor %}
{% endfor %}
{% if add_generation_prompt %}
[assistant]{{ "" }}{% endif %}"""  # noqa: E501

VALUE = {"type": "function", "function": {"name": "Bash", "description": "Run <b>ü</b>."}}
TOOL_GIVEN = Tool(VALUE, 0, dumped(VALUE))


def jinja(source=SIMPLE, **tokens) -> Jinja:
    return Jinja("own", {"default": source}, {"bos_token": "<s>"} | tokens)


def turn(role, text="", calls=(), thinking=None):
    thought = None if thinking is None else Piece(thinking, 0)
    return Turn.of(role, (Piece(text, 0),) if text else (), calls, thinking=thought)


def talk(*turns, tools=(), **options):
    """Turns that stand in messages of their own, behind one tool."""
    firsts = accumulate((1 + len(turn.calls) for turn in turns[:-1]), initial=1)
    return Talk(tuple(tools), list(turns), list(firsts), [], options)


TALK = talk(
    turn("system", "Be brief and kind."),
    turn("user", "  Where is the harbour?  "),
    turn("assistant", "Let me look.", (Call("Bash", {"command": "ls 'é'"}, 1),), "a thought"),
    turn("tool", "Somewhere north."),
    tools=[TOOL_GIVEN],
)


def test_it_renders_as_transformers_does():
    assert jinja().render(TALK).text == (
        "<s>Tools:\n"
        '{"type": "function", "function": {"name": "Bash", "description": "Run <b>ü</b>."}}\n'
        "[system] Be brief and kind.\n"
        "[user] Where is the harbour?\n"
        "[assistant] Let me look. (a thought)\n"
        '-> Bash {"command": "ls \'é\'"}\n'
        "[tool] Somewhere north.\n"
        "[assistant]"
    )


def test_every_block_is_found_though_its_text_was_trimmed():
    found = dict.fromkeys([*range(6), None], "")
    for text, block in jinja().render(TALK).pieces:
        found[block] += text
    assert found[0] == f"<s>Tools:\n{TOOL_GIVEN.json}"
    assert found[1] == "\n[system] Be brief and kind."
    assert found[2] == "\n[user] Where is the harbour?"
    assert found[3] == "\n[assistant] Let me look. (a thought"
    assert found[4] == ')\n-> Bash {"command": "ls \'é\'"}'
    assert found[5] == "\n[tool] Somewhere north."
    assert found[None] == "\n[assistant]"


def test_texts_are_searched_where_the_template_looks_into_them():
    source = """\
{% for m in messages %}
{% if m.content | length > 12 %}long: {% endif %}{{ m.content }}

{% endfor %}"""
    whole = jinja(source).render(talk(turn("user", "exactly 12 c"), turn("user", "here is more")))
    assert whole.text == "exactly 12 c\n\nhere is more\n\n"
    assert [piece.block for piece in whole.pieces] == [1, 2, 2, None]


def test_the_prefix_and_the_last_user_text():
    whole = jinja().render(talk(turn("system", "S"), turn("user", "Apple"), turn("user", "Pear")))
    assert whole.prefix == len("<s>[system] S\n[user] ")
    assert whole.last_user == whole.text.index("Pear")
    assert jinja().render(TALK).last_user is None
    later = jinja().render(talk(turn("user", "A"), turn("system", "S")))
    assert later.prefix == len("<s>[user] ")


def test_a_template_for_tools_is_taken_for_requests_with_tools():
    both = Jinja("own", {"default": "plain", "tool_use": "with tools"}, {})
    assert both.render(talk(turn("user", "a"))).text == "plain"
    assert both.render(talk(turn("user", "a"), tools=[TOOL_GIVEN])).text == "with tools"


def test_options_go_before_special_tokens():
    source = "{{ bos_token }} {{ enable_thinking }} {{ tools is none }} {{ documents is none }}"
    assert jinja(source).render(talk(turn("user", "a"), enable_thinking=False)).text == (
        "<s> False True True"
    )
    assert jinja(source).render(talk(turn("user", "a"), bos_token="!")).text.startswith("!")


def test_what_templates_use_of_the_environment():
    source = """\
{%- for m in messages -%}
{%- if loop.index > 2 %}{% break %}{% endif -%}
{%- generation -%}{{ m.content }};{%- endgeneration -%}
{%- endfor -%}
{{ {"a": "<é>"} | tojson(indent=1) }}"""
    turns = [turn("user", text) for text in "abc"]
    assert jinja(source).render(talk(*turns)).text == 'a;b;{\n "a": "<é>"\n}'


def test_the_day_makes_an_estimate_of_it():
    dated = jinja("{{ strftime_now('%Y') }}").render(talk(turn("user", "a")))
    assert dated.text.startswith("2")
    assert not dated.exact
    assert jinja().render(TALK).exact


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ raise_exception('Only one system message.') }}", "Only one system message"),
        ("{{ messages[0].content + 1 }}", "the chat template refuses the request"),
        ("{% if %}", "the chat template refuses the request"),
        ("{{ messages.append(1) }}", "the chat template refuses the request"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
    ],
)
def test_a_template_that_refuses_or_must_not(source, reason):
    with pytest.raises(InputError, match=reason):
        jinja(source).render(talk(turn("user", "a")))


def test_pieces_make_up_the_text_whatever_is_sent():
    backend, parser = profile("vllm-mlx@0.6.0:tools=native", jinja()), Parser()
    for path, body in hard_bodies(80, seed=5):
        request = posted(path, body, parser)
        whole = backend.render(request)
        assert "".join(piece.text for piece in whole.pieces) == whole.text
        assert {piece.block for piece in whole.pieces} - {None} <= set(range(request.block_count))


def test_a_directory_brings_its_template(tmp_path):
    config = {
        "chat_template": SIMPLE,
        "bos_token": {"content": "<bos>", "lstrip": False},
        "eos_token": None,
        "additional_special_tokens": ["<x>"],
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    own = template(str(tmp_path))
    assert own.name == tmp_path.name
    request = messages(("user", "Hi"), system="S", tools=[TOOL])
    assert profile("vllm-mlx", own).render(request).text.startswith("<bos>Tools:\n")
    (tmp_path / "chat_template.jinja").write_text("{{ messages[0].content }} {{ bos_token }}")
    assert profile("vllm-mlx", template(str(tmp_path))).render(request).text == "S <bos>"


def test_templates_by_name(tmp_path):
    named = [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    own = template(str(tmp_path))
    assert own.render(talk(turn("user", "x"), tools=[TOOL_GIVEN])).text == "b"


def test_a_model_in_the_hub_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    kept = tmp_path / "models--org--name"
    (kept / "snapshots" / "abc").mkdir(parents=True)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("abc\n")
    (kept / "snapshots" / "abc" / "chat_template.jinja").write_text("found")
    (kept / "snapshots" / "abc" / "tokenizer.json").write_text("{}")
    assert template("org/name").render(talk(turn("user", "x"))).text == "found"


def test_models_that_cannot_be_had(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="no model is called 'org/name'"):
        template("org/name")
    with pytest.raises(InputError, match="has no chat template"):
        template(str(tmp_path))
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(InputError, match="JSON ends"):
        template(str(tmp_path))
