"""`cachediag rules`: write, check, explain and export rule files."""

import typer

__all__ = ["app"]

app = typer.Typer(
    name="rules",
    help="Write the rules that remove what was found, check them offline, export them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
