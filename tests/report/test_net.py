import io

from rich.console import Console
from rich.control import Control
from rich.live import Live
from rich.text import Text

from cachediag.report.net import Net


def printed(*objects: object) -> str:
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard")
    console.push_render_hook(Net())
    console.print(*objects)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_what_a_report_forgot_is_made_safe():
    made = printed(Text("a\x1b[5mb\u202e\nc\x9b"))
    assert made == "a\\e[5mb\\u202e\nc\\x9b\n"


def test_styles_and_what_rich_controls_stay():
    assert printed(Text("a", "red"), Control.move(0, -1)) == "\x1b[31ma\x1b[0m\n\x1b[1A"


def test_a_line_that_is_kept_up_to_date_stands_below():
    console = Console(file=io.StringIO(), force_terminal=True, color_system=None)
    console.push_render_hook(Net())
    with Live(Text("going"), console=console, auto_refresh=False, transient=True):
        console.print(Text("said\x07"))
    assert isinstance(console.file, io.StringIO)
    # rich itself drops a bell.
    assert "\r\x1b[2Ksaid\ngoing" in console.file.getvalue()
