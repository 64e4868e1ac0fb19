"""What each release makes of a request, written out; the live tests hold it against them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.errors import UsageError
from cachediag.protocol import Parser
from cachediag.render import profile, template
from tests.live.rendering_bodies import hard_bodies
from tests.render.bodies import TOOL, chat, messages, posted, prompt

HEADER = "x-anthropic-billing-header: cc_version=2.1.113.fa9; cch=6c09a;"
ANSWER = "<|im_start|>assistant\n"
RELEASES = ("0.2.6", "0.2.8", "0.2.9", "0.3.0", "0.4.0", "0.4.1", "0.5.0", "0.6.0")


def said(role: str, text: str) -> str:
    return f"<|im_start|>{role}\n{text}<|im_end|>\n"


def text(request, release="0.6.0", *, native=False, model="qwen3") -> str:
    spec = f"vllm-mlx@{release}{':tools=native' if native else ''}"
    return profile(spec, template(model)).render(request).text


def call(name="Bash", **arguments):
    return {"type": "tool_use", "id": "t1", "name": name, "input": arguments}


def result(content, id_="t1"):
    return {"type": "tool_result", "tool_use_id": id_, "content": content}


def words(content):
    return {"type": "text", "text": content}


def test_texts_are_joined_by_a_line_end():
    request = messages(
        ("user", [words("one"), words("two")]), system=[words("first"), words("second")]
    )
    for release in RELEASES:
        expected = said("system", "first\nsecond") + said("user", "one\ntwo") + ANSWER
        assert text(request, release) == expected


def test_without_a_parser_calls_and_results_are_words():
    request = messages(
        ("user", "Go"),
        ("assistant", [words("So."), call(command="é")]),
        ("user", [result([words("a"), words("b")]), words("And?")]),
    )
    begin = said("user", "Go") + said(
        "assistant", 'So.\n[Calling tool: Bash({"command": "\\u00e9"})]'
    )
    assert text(request, "0.2.6") == (
        begin + said("user", "And?") + said("user", "[Tool Result (t1)]: a\nb") + ANSWER
    )
    for release in RELEASES[1:]:
        assert text(request, release) == (
            begin + said("user", "And?\n\n[Tool Result (t1)]: a\nb") + ANSWER
        )


def test_with_a_parser_the_template_is_given_calls_and_results():
    request = messages(
        ("user", "Go"),
        ("assistant", [words("So."), call(command="é")]),
        ("user", [result("a"), result(None, "t2"), words("And?")]),
    )
    begin = said("user", "Go") + said(
        "assistant",
        'So.\n<tool_call>\n{"name": "Bash", "arguments": {"command": "é"}}\n</tool_call>',
    )
    one, both = "\n<tool_response>\na\n</tool_response>", "\n<tool_response>\n\n</tool_response>"
    for release in ("0.2.6", "0.6.0"):
        assert text(request, release, native=True) == (
            f"{begin}{said('user', 'And?')}<|im_start|>user{one}{both}<|im_end|>\n{ANSWER}"
        )
    merged = "\n<tool_response>\na\n\n\n</tool_response>"
    for release in ("0.2.8", "0.5.0"):
        assert text(request, release, native=True) == (
            f"{begin}{said('user', 'And?')}<|im_start|>user{merged}<|im_end|>\n{ANSWER}"
        )


def test_messages_of_one_role_become_one():
    request = messages(("user", "a"), ("user", "b"), ("assistant", "c"), ("assistant", "d"))
    assert text(request, "0.2.6", model="qwen2.5").endswith(
        said("user", "a")
        + said("user", "b")
        + said("assistant", "c")
        + said("assistant", "d")
        + ANSWER
    )
    assert text(request, "0.2.8", model="qwen2.5").endswith(
        said("user", "a\n\nb") + said("assistant", "c\n\nd") + ANSWER
    )


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("0.2.6", f"{HEADER}\nBe brief.\nSay {HEADER}\nMind it."),
        ("0.2.8", "Be brief.\nSay Mind it."),
        ("0.4.1", "Be brief.\nSay Mind it."),
        ("0.5.0", f"Be brief.\nSay {HEADER}\nMind it."),
        ("0.6.0", f"Be brief.\nSay {HEADER}\nMind it."),
    ],
)
def test_the_billing_header_by_release(release, expected):
    system = [words(HEADER), words(f"Be brief.\nSay {HEADER}\nMind it.")]
    request = messages(("user", "Go"), system=system)
    assert text(request, release) == said("system", expected) + said("user", "Go") + ANSWER


def test_the_header_in_a_system_message_of_either_protocol():
    inline = chat({"role": "system", "content": f"{HEADER}\nX"}, {"role": "user", "content": "Go"})
    for release, expected in (("0.3.0", f"{HEADER}\nX"), ("0.4.0", "X"), ("0.6.0", "X")):
        assert text(inline, release) == said("system", expected) + said("user", "Go") + ANSWER


def test_inline_system_messages_move_to_the_front_from_0_5_0():
    request = messages(
        ("user", "a"), ("system", "Note."), ("user", "b"), ("system", ""), system="Be brief."
    )
    in_place = said("system", "Be brief.") + said("user", "a") + said("system", "Note.")
    assert text(request, "0.4.1").startswith(in_place + said("user", "b"))
    for release in ("0.5.0", "0.6.0"):
        assert text(request, release) == (
            said("system", "Be brief.\n\nNote.") + said("user", "a\n\nb") + ANSWER
        )


def test_a_chat_request_keeps_its_system_messages_in_place():
    request = chat(
        {"role": "user", "content": "a"},
        {"role": "developer", "content": "Note."},
        {"role": "user", "content": "b"},
    )
    assert text(request) == said("user", "a") + said("system", "Note.") + said("user", "b") + ANSWER
    assert text(request, "0.2.6") == said("user", "a") + said("user", "b") + ANSWER


def test_an_empty_system_field():
    assert text(messages(("user", "a"), system="")) == said("user", "a") + ANSWER
    assert text(messages(("user", "a"), system=[])) == said("user", "a") + ANSWER
    assert text(messages(("user", "a"), system=[words("")])) == (
        said("system", "") + said("user", "a") + ANSWER
    )


def test_blocks_that_the_text_path_drops():
    image = {"type": "image", "source": {"type": "base64", "data": "aGk="}}
    request = messages(
        ("user", [image]),
        ("assistant", [{"type": "thinking", "thinking": "hm", "signature": "x"}, words("Yes.")]),
        ("user", [words("b"), {"type": "document", "source": {}}, words("")]),
    )
    answer = said("assistant", "Yes.")
    assert text(request) == said("user", "") + answer + said("user", "b") + ANSWER
    assert text(request, "0.4.1") == said("user", "") + answer + said("user", "b\n") + ANSWER


def test_a_call_of_some_tool_can_be_demanded():
    def asked(choice, release="0.6.0"):
        return text(messages(("user", "Go"), tools=[TOOL], tool_choice=choice), release)

    plain = text(messages(("user", "Go"), tools=[TOOL]))
    assert asked({"type": "auto"}) == plain
    assert "MUST call at least one of the available tools" in asked({"type": "any"})
    named = asked({"type": "tool", "name": "Bash"})
    assert "MUST call the `Bash` function" in named
    assert named.endswith(f"{ANSWER}<think>\n\n</think>\n\n")
    assert "# Tools" not in asked({"type": "none"})
    assert "MUST call" not in asked({"type": "any"}, "0.2.9")
    assert "# Tools" in asked({"type": "none"}, "0.2.6")


def test_tools_are_written_anew_key_by_key():
    definition = (
        '{"type": "function", "function": {"name": "Bash", "description": "Run ü.", '
        '"parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}}'
    )
    turned = {key: TOOL[key] for key in ("input_schema", "description", "name")}
    marked = turned | {"cache_control": {"type": "ephemeral"}}
    for tool in (TOOL, turned, marked):
        assert f"<tools>\n{definition}\n</tools>" in text(messages(("user", "Go"), tools=[tool]))
    function = {"strict": True, "parameters": TOOL["input_schema"]}
    function |= {"name": "Bash", "description": "Run ü."}
    request = chat(
        {"role": "user", "content": "Go"}, tools=[{"type": "function", "function": function}]
    )
    assert f"<tools>\n{definition}\n</tools>" in text(request)


def test_a_result_sent_as_a_list_of_parts_prints_as_python_prints_it():
    request = chat(
        {"role": "user", "content": "Go"},
        {"role": "tool", "tool_call_id": "t1", "content": [words("it's\n")]},
    )
    rest = "image_url=None, video=None, video_url=None, audio_url=None"
    assert said("user", "Go\n\n[Tool Result (t1)]: [ContentPart(type='text', text=\"it's\\n\", "
                f"{rest})]") in text(request)  # fmt: skip
    parts = "{'type': 'text', 'text': \"it's\\n\", 'image_url': None, "
    assert f"<tool_response>\n[{parts}" in text(request, "0.3.0", native=True)
    string = "\"type='text' text=\\\"it's\\\\n\\\" "
    assert f"<tool_response>\n[{string}" not in text(request, "0.3.0", native=True)
    native = text(request, "0.6.0", native=True)
    assert "<tool_response>\n['type=\\'text\\' text=\"it\\'s\\\\n\" image_url=None" in native


def test_thinking_left_open_before_a_call_in_the_text_is_closed_from_0_4_0():
    request = messages(("user", "a"), ("assistant", "<think>so <tool_call>x"), ("user", "b"))
    assert "<think>so <tool_call>x<|im_end|>" in text(request, "0.3.0", model="qwen2.5")
    assert "<think>so </think><tool_call>x<|im_end|>" in text(request, "0.4.0", model="qwen2.5")


def test_options_of_the_template():
    off = "<think>\n\n</think>\n\n"
    options = {"chat_template_kwargs": {"enable_thinking": False}}
    assert text(messages(("user", "a"), **options), "0.3.0").endswith(off)
    assert not text(messages(("user", "a"), **options), "0.2.9").endswith(off)
    turn = {"role": "user", "content": "a"}
    assert text(chat(turn, **options), "0.2.9").endswith(off)
    assert not text(chat(turn, **options), "0.2.8").endswith(off)
    assert text(chat(turn, enable_thinking=False), "0.2.8").endswith(off)
    assert not text(messages(("user", "a"), enable_thinking=False)).endswith(off)


def test_the_prefix_that_the_engine_keeps():
    backend = profile("vllm-mlx@0.6.0")
    first = backend.render(messages(("user", "a"), system="Be brief.", tools=[TOOL]))
    later = backend.render(messages(("user", "b"), system="Be brief.", tools=[TOOL]))
    assert first.prefix == later.prefix == first.text.index("a<|im_end|>\n<|im_start|>assistant")
    assert backend.render(messages(("user", "a"), tools=[TOOL])).prefix is None
    inline = chat(
        {"role": "system", "content": "S"},
        {"role": "user", "content": "a"},
        {"role": "system", "content": "T"},
    )
    assert backend.render(inline).prefix is None
    # 0.4 looks at all that stands before the last message, and asks only for a system message.
    before = profile("vllm-mlx@0.4.1").render(inline)
    assert before.prefix == len(said("system", "S")) + len("<|im_start|>user\n")
    generic = profile("generic").render(inline)
    assert generic.prefix == len(said("system", "S")) + len("<|im_start|>user\n")


def test_what_is_not_proven_says_so():
    assert profile("vllm-mlx").render(messages(("user", "a"))).exact
    for backend, request in (
        ("vllm-mlx@0.7.0", messages(("user", "a"))),
        (
            "vllm-mlx",
            chat({"role": "user", "content": "a"}, response_format={"type": "json_object"}),
        ),
    ):
        rendered = profile(backend).render(request)
        assert not rendered.exact
        assert len(rendered.notes) == 1


@pytest.mark.parametrize("release", RELEASES)
def test_a_server_that_keeps_the_billing_header(release):
    inline = ("system", f"{HEADER}\nTurn.")
    request = messages(("user", "u"), inline, system=[words(HEADER), words("Help.")])
    backend = profile(f"vllm-mlx@{release}:strip=off", template("qwen3"))
    assert backend.name == f"vllm-mlx@{release}:strip=off"
    assert backend.render(request).text.count(HEADER) == 2
    texts = [block.canonical.decode() for block in backend.arrange(request).blocks]
    assert sum(HEADER in each for each in texts) == 2
    assert profile(f"vllm-mlx@{release}:tools=native,strip=off").name.endswith(
        ":tools=native,strip=off"
    )


def test_a_release_or_an_option_that_is_none():
    with pytest.raises(UsageError, match="is no release of vllm-mlx"):
        profile("vllm-mlx@new")
    with pytest.raises(UsageError, match="tools=some is not known"):
        profile("vllm-mlx:tools=some")
    with pytest.raises(UsageError, match="strip=no is not known"):
        profile("vllm-mlx:strip=no")
    with pytest.raises(UsageError, match="has no option 'parser'"):
        profile("vllm-mlx:parser=hermes")
    assert profile("vllm-mlx:tools=native").name == "vllm-mlx@0.6.0:tools=native"


POOL = (
    ("user", ""),
    ("user", "u"),
    ("system", "s"),
    ("assistant", [words("a"), call(x=1)]),
    ("assistant", "<think>t <tool_call>"),
    ("user", [result("r"), words("v")]),
    ("user", [result("r"), result("q", "t2")]),
)


@pytest.mark.parametrize("release", ["0.3.0", "0.5.0", "0.6.0"])
@given(st.data())
def test_conversations_that_begin_alike_and_part_are_read_right(release, data):
    native = data.draw(st.booleans())
    model = data.draw(st.sampled_from(["qwen3", "qwen2.5"]))
    spec, parser = f"vllm-mlx@{release}{':tools=native' if native else ''}", Parser()
    warm = profile(spec, template(model))
    talks = data.draw(st.lists(st.lists(st.sampled_from(POOL), min_size=1), min_size=2, max_size=6))
    for talk in talks:
        turns = [{"role": role, "content": content} for role, content in (POOL[0], *talk)]
        request = prompt({"messages": turns, "system": "S"}, "messages", parser)
        shared, alone = warm.render(request), profile(spec, template(model)).render(request)
        assert shared.text == alone.text
        assert shared.pieces == alone.pieces
        assert (shared.prefix, shared.last_user) == (alone.prefix, alone.last_user)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("release", ["0.2.6", "0.3.0", "0.6.0"])
def test_what_was_rendered_before_changes_nothing(release, native):
    spec, parser = f"vllm-mlx@{release}{':tools=native' if native else ''}", Parser()
    warm = profile(spec)
    for path, body in hard_bodies(60, seed=3):
        growing = json.loads(body)
        for length in range(1, len(growing["messages"]) + 1):
            raw = json.dumps(growing | {"messages": growing["messages"][:length]}).encode()
            request = posted(path, raw, parser)
            shared, alone = warm.render(request), profile(spec).render(request)
            assert shared.text == alone.text
            assert shared.pieces == alone.pieces
            assert "".join(piece.text for piece in shared.pieces) == shared.text
            blocks = {piece.block for piece in shared.pieces} - {None}
            assert blocks <= set(range(request.block_count))


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("release", RELEASES)
def test_each_text_is_told_from_the_others(release, native):
    request = messages(
        ("user", [words("first user text"), words("second user text")]),
        ("user", "third user text"),
        ("system", "inline system text"),
        ("assistant", [words("assistant text"), call(command="argument text"), call("Read")]),
        ("user", [result("result text"), result([words("listed text")], "t2"), words("last text")]),
        system=[words("system text"), words("more system text")],
        tools=[TOOL],
    )
    backend = profile(f"vllm-mlx@{release}{':tools=native' if native else ''}")
    found = dict.fromkeys(range(request.block_count), "")
    for piece in backend.render(request).pieces:
        if piece.block is not None:
            found[piece.block] += piece.text
    wanted = (
        "Run ü.",
        *("system text", "more system text", "first user text", "second user text"),
        *("third user text", "inline system text", "assistant text", "argument text", "Read"),
        *("result text", "listed text", "last text"),
    )
    for block, text in enumerate(wanted):
        assert text in found[block]
        others = "".join(each for number, each in found.items() if number != block)
        assert text in ("Read", "system text") or text not in others
