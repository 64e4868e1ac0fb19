"""`cachediag rules`: write, check, explain and export rule files."""

import typer

from cachediag.cli.rules import check, explain, export, new

__all__ = ["app"]

app = typer.Typer(
    name="rules",
    help="""Write the rules that remove what was found, and try them.

    \b
    Examples:
      cachediag rules new -o rules.toml
      cachediag rules check rules.toml
      cachediag rules explain rules.toml
      cachediag rules export rules.toml --to litellm -o cachediag_rules.py
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("new")(new.new)
app.command("check")(check.check)
app.command("explain")(explain.explain)
app.command("export")(export.export)
