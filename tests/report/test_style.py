import io

from rich.console import Console, Group, RenderableType

from cachediag.report.style import Paragraph, commands


def printed(shown: RenderableType, width: int = 80) -> str:
    file = io.StringIO()
    Console(file=file, width=width, color_system=None).print(shown)
    return file.getvalue()


def test_a_paragraph_is_wrapped_at_words() -> None:
    assert printed(Paragraph("one two three"), width=8) == "one two\nthree\n"
    lines = printed(Paragraph("word " * 40), width=200).splitlines()
    assert [len(line) for line in lines] == [79, 79, 39]


def test_a_command_is_never_cut_off() -> None:
    named = commands({"cachediag diff demo --pair 0:2": "the whole of that pair"})
    shown = " ".join(printed(Group(*named), width=30).split())
    assert shown == "next cachediag diff demo --pair 0:2 the whole of that pair"


def test_commands_stand_below_one_another_with_their_purposes() -> None:
    shown = commands({"cachediag diff s": "see it", "cachediag explain V01": "stop it"})
    assert [line.plain for line in shown] == [
        "next   cachediag diff s        see it",
        "       cachediag explain V01   stop it",
    ]
