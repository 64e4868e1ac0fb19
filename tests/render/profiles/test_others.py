"""The profiles beside vllm-mlx; that of mlx-lm is held against the server by the live tests."""

import pytest

from cachediag.errors import UsageError
from cachediag.render import profile, template
from cachediag.render.profiles import PROFILES
from tests.render.bodies import TOOL, chat, messages

HEADER = "x-anthropic-billing-header: cc_version=2.1.113.fa9; cc_entrypoint=cli; cch=6c09a;"
ANSWER = "<|im_start|>assistant\n"


def said(role, text):
    return f"<|im_start|>{role}\n{text}<|im_end|>\n"


def rendered(name, request, model="qwen3"):
    return profile(name, template(model)).render(request)


def words(content):
    return {"type": "text", "text": content}


def result(content):
    return {"type": "tool_result", "tool_use_id": "t1", "content": content}


TALK = messages(
    ("user", "Go"),
    (
        "assistant",
        [
            {"type": "thinking", "thinking": "hm", "signature": "x"},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"z": 1, "a": "é"}},
        ],
    ),
    ("system", "Note."),
    ("user", [result([words("a"), words("b")]), words("And"), words("this?")]),
    system=[words(HEADER), words("Be brief.")],
)
CALL = '<tool_call>\n{"name": "Bash", "arguments": {"z": 1, "a": "é"}}\n</tool_call>'


def printed(content):
    return said("user", f"<tool_response>\n{content}\n</tool_response>")


def test_vllm_fronts_system_texts_and_puts_results_first():
    assert rendered("vllm", TALK).text == (
        said("system", "Be brief.Note.")
        + said("user", "Go")
        + said("assistant", CALL)
        + printed("a\nb")
        + said("user", "And\nthis?")
        + ANSWER
    )


def test_llama_cpp_blots_the_nonce_out_and_puts_results_last():
    blotted = HEADER.replace("6c09a", "fffff")
    assert rendered("llama.cpp", TALK).text == (
        said("system", f"{blotted}Be brief.")
        + said("user", "Go")
        + said("assistant", CALL)
        + said("system", "Note.")
        + said("user", "And\nthis?")
        + printed("ab")
        + ANSWER
    )


def test_generic_leaves_everything_in_its_place():
    assert rendered("generic", TALK).text == (
        said("system", f"{HEADER}\nBe brief.")
        + said("user", "Go")
        + said("assistant", CALL)
        + said("system", "Note.")
        + printed("a\nb")
        + said("user", "And\nthis?")
        + ANSWER
    )


def test_mlx_lm_hands_a_chat_request_on_as_it_is():
    function = {"name": "Bash", "parameters": {}, "strict": True}
    arguments = '{"z":1.0,  "a":"\\u00e9"}'
    request = chat(
        {"role": "system", "content": [words("Be "), words("brief.")]},
        {"role": "user", "content": "Go"},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": [{"id": "t", "function": {"name": "Bash", "arguments": arguments}}],
        },
        {"role": "tool", "tool_call_id": "t", "content": [words("a"), words("b")]},
        tools=[{"function": function, "type": "function"}],
    )
    whole = rendered("mlx-lm", request)
    assert whole.exact
    assert whole.text.startswith("<|im_start|>system\nBe brief.\n\n# Tools")
    definition = (
        '{"function": {"name": "Bash", "parameters": {}, "strict": true}, "type": "function"}'
    )
    assert f"<tools>\n{definition}\n</tools>" in whole.text
    assert whole.text.endswith(
        said("user", "Go")
        + "<|im_start|>assistant\n<think>\nhm\n</think>\n\n"
        + '<tool_call>\n{"name": "Bash", "arguments": {"z": 1.0, "a": "é"}}\n</tool_call>'
        + "<|im_end|>\n"
        + printed("ab")
        + ANSWER
    )


def test_mlx_lm_keeps_no_prefix_without_a_system_message():
    """`_tokenize` counts system messages at the head, not what Qwen2.5 writes by itself."""
    hello = {"role": "user", "content": "Hello"}
    brief = {"role": "system", "content": "Be brief."}
    whole = rendered("mlx-lm", chat(brief, hello), "qwen2.5")
    assert whole.text[: whole.prefix] == f"{said('system', 'Be brief.')}<|im_start|>user\n"
    assert rendered("mlx-lm", chat(hello), "qwen2.5").prefix is None
    assert rendered("mlx-lm", chat(hello, brief), "qwen2.5").prefix is None


def test_mlx_lm_has_no_messages_endpoint():
    whole = rendered("mlx-lm@0.31.3", TALK)
    assert not whole.exact
    assert whole.notes


def test_the_hosted_form_is_an_estimate_of_all_blocks_in_order():
    request = messages(
        ("user", [result("a"), {"type": "image", "source": {"data": "aGk="}}, words("Go")]),
        ("assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"z": 1}}]),
        ("user", "Last"),
        system="Be brief.",
        tools=[TOOL | {"cache_control": {"type": "ephemeral"}}],
    )
    whole = rendered("anthropic", request)
    assert not whole.exact
    head = (
        '{"name":"Bash","description":"Run ü.","input_schema":{"type":"object",'
        '"properties":{"command":{"type":"string"}}}}\nBe brief.\n'
    )
    assert whole.text == (
        f'{head}\nuser:\na\n[image]\nGo\n\nassistant:\nBash {{"z":1}}\n\nuser:\nLast\n'
    )
    assert whole.prefix == len(head)
    assert whole.last_user == whole.text.index("\nuser:\nLast")
    assert [whole.block_at(whole.text.index(text)) for text in ("Run", "Be", "[im", "Last")] == [
        *(0, 1, 3, 6),
    ]


def test_a_call_and_a_result_of_the_responses_endpoint():
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]},
        {"type": "function_call", "call_id": "t", "name": "Bash", "arguments": '{"z":1}'},
        {"type": "function_call_output", "call_id": "t", "output": "a"},
    ]
    from tests.render.bodies import prompt

    request = prompt({"instructions": "Be brief.", "input": items}, "responses")
    whole = rendered("vllm-mlx:tools=native", request)
    assert not whole.exact
    assert whole.text == (
        said("system", "Be brief.")
        + said("user", "Go")
        + said("assistant", '<tool_call>\n{"name": "Bash", "arguments": {"z":1}}\n</tool_call>')
        + printed("a")
        + ANSWER
    )


@pytest.mark.parametrize("name", PROFILES)
def test_pieces_make_up_the_text_of_every_profile(name):
    for request in (TALK, messages(("user", "a")), chat({"role": "user", "content": "a"})):
        whole = rendered(name, request)
        assert "".join(piece.text for piece in whole.pieces) == whole.text
        assert {piece.block for piece in whole.pieces} - {None} <= set(range(request.block_count))


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_names_itself_and_arranges(name):
    assert profile(name).name.split("@")[0] == name
    assert profile(name).arrange(TALK).block_count > 0


def test_what_the_backends_arrange():
    paths = {
        name: [block.path for block in profile(name).arrange(TALK).blocks]
        for name in ("vllm", "llama.cpp", "vllm-mlx@0.4.1", "vllm-mlx@0.5.0", "vllm-mlx@0.2.6")
    }
    as_sent = [block.path for block in TALK.blocks]
    assert paths["vllm-mlx@0.2.6"] == paths["llama.cpp"] == as_sent
    assert paths["vllm-mlx@0.4.1"] == as_sent[1:]
    assert paths["vllm-mlx@0.5.0"] == paths["vllm"]
    assert paths["vllm"][:2] == ["system[1]", "messages[2].content"]


def test_llama_cpp_hides_a_nonce_that_changes():
    arranged = [
        profile("llama.cpp").arrange(messages(("user", "a"), system=HEADER.replace("6c09a", nonce)))
        for nonce in ("6c09a", "1c8b4")
    ]
    assert len({prompt.blocks[0].canonical for prompt in arranged}) == 1


def test_a_profile_that_is_none():
    with pytest.raises(UsageError, match="no profile is called 'x'"):
        profile("x")
    with pytest.raises(UsageError, match="vllm has no option 'tools'"):
        profile("vllm:tools=native")
