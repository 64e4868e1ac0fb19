"""What the two templates print, written out; the live tests hold them against the real ones."""

import gc

import pytest

from cachediag.render import Piece, Rendered, template
from cachediag.render.templates.qwen import _Talk
from cachediag.render.turns import Call, Talk, Tool, Turn, dumped

VALUE = {"type": "function", "function": {"name": "Bash", "description": "Run.", "parameters": {}}}
TOOL = Tool(VALUE, 0, dumped(VALUE))
TOOLBOX = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
    '{"type": "function", "function": {"name": "Bash", "description": "Run.", "parameters": {}}}\n'
    "</tools>\n\nFor each function call, return a json object with function name and arguments "
    "within <tool_call></tool_call> XML tags:\n<tool_call>\n"
    '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
)
QWEN = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."


def turn(role, text="", calls=(), thinking=None, block=0):
    content = (Piece(text, block),)
    thought = None if thinking is None else Piece(thinking, block)
    return Turn.of(role, content, calls, thinking=thought)


def rendered(model, turns, tools=(), firsts=None, **options) -> Rendered:
    talk = Talk(tuple(tools), turns, firsts or list(range(len(turns))), [], options)
    return template(model).render(talk)


def text(model, *turns, tools=(), **options) -> str:
    return rendered(model, list(turns), tools, **options).text


USER = turn("user", "Hi")
ASKED = "<|im_start|>user\nHi<|im_end|>\n"
ANSWER = "<|im_start|>assistant\n"


def test_qwen25_writes_a_system_message_of_its_own():
    assert text("qwen2.5", USER) == f"<|im_start|>system\n{QWEN}<|im_end|>\n{ASKED}{ANSWER}"
    system = turn("system", "Be brief.")
    assert text("qwen2.5", system, USER) == (
        f"<|im_start|>system\nBe brief.<|im_end|>\n{ASKED}{ANSWER}"
    )


def test_qwen3_writes_none():
    assert text("qwen3", USER) == ASKED + ANSWER
    system = turn("system", "Be brief.")
    assert text("qwen3", system, USER) == (
        f"<|im_start|>system\nBe brief.<|im_end|>\n{ASKED}{ANSWER}"
    )


def test_tools_follow_the_system_text():
    system = turn("system", "Be brief.")
    for model in ("qwen2.5", "qwen3"):
        assert text(model, system, USER, tools=[TOOL]) == (
            f"<|im_start|>system\nBe brief.\n\n{TOOLBOX}<|im_end|>\n{ASKED}{ANSWER}"
        )
    assert text("qwen3", USER, tools=[TOOL]) == (
        f"<|im_start|>system\n{TOOLBOX}<|im_end|>\n{ASKED}{ANSWER}"
    )
    assert text("qwen2.5", USER, tools=[TOOL]) == (
        f"<|im_start|>system\n{QWEN}\n\n{TOOLBOX}<|im_end|>\n{ASKED}{ANSWER}"
    )


def test_calls_with_and_without_text():
    calls = (Call("Bash", {"command": "ü"}, 1), Call("Read", {}, 2))
    printed = (
        '<tool_call>\n{"name": "Bash", "arguments": {"command": "ü"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "Read", "arguments": {}}\n</tool_call><|im_end|>\n'
    )
    told, silent = turn("assistant", "So.", calls), turn("assistant", "", calls)
    more = turn("user", "Go on")
    end = f"<|im_start|>user\nGo on<|im_end|>\n{ANSWER}"
    head = f"<|im_start|>system\n{QWEN}<|im_end|>\n"
    for model, before in (("qwen2.5", head), ("qwen3", "")):
        expected = f"{before}{ASKED}{ANSWER}So.\n{printed}{end}"
        assert text(model, USER, told, more) == expected
    assert text("qwen2.5", USER, silent, more) == f"{head}{ASKED}{ANSWER}{printed}{end}"
    assert text("qwen3", USER, silent, more) == f"{ASKED}{ANSWER}{printed}{end}"


def test_arguments_that_are_text_are_quoted_by_qwen25_alone():
    asked = turn("assistant", "", (Call("Bash", '{"a":1}', 0),))
    more = turn("user", "Go on")
    assert '"arguments": "{\\"a\\":1}"}' in text("qwen2.5", USER, asked, more)
    assert '"arguments": {"a":1}}' in text("qwen3", USER, asked, more)


def test_results_that_follow_one_another_share_a_user_message():
    results = [turn("tool", "one"), turn("tool", "two")]
    expected = (
        "<|im_start|>user\n<tool_response>\none\n</tool_response>\n"
        "<tool_response>\ntwo\n</tool_response><|im_end|>\n"
    )
    for model in ("qwen2.5", "qwen3"):
        assert text(model, USER, *results, USER).endswith(f"{expected}{ASKED}{ANSWER}")
        assert text(model, USER, *results).endswith(expected + ANSWER)


def test_qwen3_prints_thinking_after_the_last_query_only():
    thought = turn("assistant", "Yes.", thinking="\nhm\n")
    plain = f"{ANSWER}Yes.<|im_end|>\n"
    full = f"{ANSWER}<think>\nhm\n</think>\n\nYes.<|im_end|>\n"
    result = turn("tool", "r")
    printed = "<|im_start|>user\n<tool_response>\nr\n</tool_response><|im_end|>\n"
    assert text("qwen3", USER, thought, USER) == ASKED + plain + ASKED + ANSWER
    assert text("qwen3", USER, thought, result) == ASKED + full + printed + ANSWER
    assert text("qwen3", USER, thought) == ASKED + full + ANSWER
    assert text("qwen2.5", USER, thought, result).endswith(plain + printed + ANSWER)


def test_qwen3_prints_an_empty_thought_for_the_last_message_only():
    answer = turn("assistant", "\nYes.")
    assert text("qwen3", USER, answer) == (
        f"{ASKED}{ANSWER}<think>\n\n</think>\n\nYes.<|im_end|>\n{ANSWER}"
    )
    result = turn("tool", "r")
    assert f"{ANSWER}\nYes.<|im_end|>" in text("qwen3", USER, answer, result)


def test_qwen3_takes_thinking_out_of_the_text():
    answer = turn("assistant", "<think>\nhm\n</think>\n\nYes.")
    assert text("qwen3", USER, answer, USER) == f"{ASKED}{ANSWER}Yes.<|im_end|>\n{ASKED}{ANSWER}"
    assert f"<think>\nhm\n</think>\n\nYes.{'<|im_end|>'}" in text("qwen3", USER, answer)
    assert f"{ANSWER}<think>\nhm" in text("qwen2.5", USER, answer, USER)


def test_a_user_text_that_looks_like_a_result_is_no_query():
    looks = turn("user", "<tool_response>\nr\n</tool_response>")
    answer = turn("assistant", "Yes.", thinking="hm")
    assert "<think>\nhm" in text("qwen3", USER, answer, looks)


def test_thinking_can_be_turned_off_for_qwen3():
    assert text("qwen3", USER, enable_thinking=False).endswith(f"{ANSWER}<think>\n\n</think>\n\n")
    assert text("qwen3", USER, enable_thinking=True).endswith(f"{ASKED}{ANSWER}")
    assert text("qwen2.5", USER, enable_thinking=False).endswith(f"{ASKED}{ANSWER}")


def test_roles_that_the_templates_do_not_know_print_nothing():
    assert text("qwen3", turn("developer", "x"), USER) == ASKED + ANSWER


def test_a_result_after_a_message_that_prints_nothing_opens_a_message():
    parted = text("qwen3", turn("tool", "a"), turn("developer", "x"), turn("tool", "b"))
    assert parted.count("<|im_start|>user") == 2


def test_every_character_knows_its_block():
    calls = (Call("Bash", {}, 1),)
    whole = rendered(
        "qwen2.5",
        [turn("system", "S"), USER, turn("assistant", "So.", calls), turn("tool", "r")],
        [TOOL],
        firsts=[1, 2, 3, 5],
    )
    found: dict[int | None, str] = {}
    for piece in whole.pieces:
        found[piece.block] = found.get(piece.block, "") + piece.text
    assert found[0] == f"\n{TOOL.json}"
    assert found[1] == "<|im_start|>system\nS"
    assert found[2] == ASKED
    assert found[3] == f"{ANSWER}So."
    assert found[4].startswith('\n<tool_call>\n{"name": "Bash"')
    assert found[4].endswith("<|im_end|>\n")
    assert found[5] == "<|im_start|>user\n<tool_response>\nr\n</tool_response><|im_end|>\n"
    assert found[None].endswith(f"</tool_call><|im_end|>\n{ANSWER}")
    assert found[None].startswith("\n\n# Tools")


@pytest.mark.parametrize("model", ["qwen2.5", "qwen3"])
def test_the_prefix_ends_where_the_first_user_text_begins(model):
    system = turn("system", "S")
    for following in (turn("user", "A"), turn("tool", "A")):
        whole = rendered(model, [system, following], [TOOL])
        other = rendered(model, [system, turn("user", "B")], [TOOL])
        assert whole.prefix == other.prefix
        assert whole.text[: whole.prefix] == other.text[: other.prefix]
        assert whole.text[: whole.prefix].endswith("<|im_start|>user\n")
    assert rendered(model, [system, turn("assistant", "A")]).prefix is None
    assert rendered(model, [system]).prefix is None


@pytest.mark.parametrize("model", ["qwen2.5", "qwen3"])
def test_where_the_last_user_text_begins(model):
    whole = rendered(model, [USER, turn("assistant", "A"), turn("user", "Last")])
    assert whole.last_user is not None
    assert whole.text[whole.last_user :] == f"Last<|im_end|>\n{ANSWER}"
    assert rendered(model, [USER, turn("tool", "r")]).last_user is None


def test_segments_are_shared_by_the_prompts_of_a_talk():
    model, turns = template("qwen3"), [USER, turn("assistant", "A"), USER]
    first = model.render(Talk((TOOL,), turns[:1], [0], []))
    second = model.render(Talk((TOOL,), turns, [0, 1, 2], []))
    *shared, _ = first.segments
    assert list(second.segments[: len(shared)]) == shared
    assert second.segments[len(shared) - 1] is second.segments[len(shared) + 1]


def test_a_conversation_that_was_forgotten_prints_as_before():
    writer = template("qwen3")
    for count in (1, 3):
        for number in range(100):
            turns = [turn("user", f"{number}, {n}") for n in range(count)]
            shown = writer.render(Talk((), turns, [0] * count, ())).text
            assert shown == rendered("qwen3", turns).text
    kept = [each for each in gc.get_objects() if isinstance(each, _Talk)]
    assert 0 < sum(each.turns[0].text.endswith(", 0") for each in kept) <= 64


def test_a_line_that_changes_leaves_the_long_texts_of_the_head_as_they_are():
    model, long = template("qwen3"), Piece("long " * 500, 2)
    heads = [
        model.render(
            Talk((TOOL,), [Turn.of("system", (Piece(f"{n}\n", 1), long)), USER], [0, 3], [0])
        ).segments
        for n in range(2)
    ]
    assert heads[0][0].text == "<|im_start|>system\n0\n"
    assert heads[0][1] is heads[1][1]
    assert heads[0][1].text == long.text
    assert heads[0][3] is heads[1][3]
    assert heads[0][3].text == f"{TOOLBOX}<|im_end|>\n"


@pytest.mark.parametrize(
    ("name", "like"),
    [("qwen3.6", "qwen3"), ("org/Qwen3-Coder-30B", "qwen3"), ("Qwen2.5-7B-Instruct", "qwen2.5")],
)
def test_a_relative_stands_for_a_model_that_is_not_here(name, like, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    whole = rendered(name, [USER], [TOOL])
    assert whole.text == rendered(like, [USER], [TOOL]).text
    assert not whole.exact
    assert name in whole.notes[0]
    assert rendered(like, [USER], [TOOL]).exact
