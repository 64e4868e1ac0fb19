"""`cachediag fix`: apply rules offline or live, set client switches, see what is in place."""

import typer

__all__ = ["app"]

app = typer.Typer(
    name="fix",
    help="Remove causes: apply rules offline or live, switch them off at the client.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
