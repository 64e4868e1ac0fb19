"""`cachediag fix`: apply rules offline or live, set client switches, see what is in place."""

import typer

from cachediag.cli.fix import apply, env, patch, status, strip, unpatch

__all__ = ["app"]

app = typer.Typer(
    name="fix",
    help="""Apply rules, set client switches, patch the server.

    \b
    Examples:
      cachediag fix strip --rules rules.toml -- claude
      cachediag fix env
      cachediag fix patch --python ~/mlx/bin/python --dry-run
      cachediag fix status
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("strip", context_settings=strip.CONTEXT_SETTINGS)(strip.strip)
app.command("apply")(apply.apply)
app.command("env")(env.env)
app.command("patch")(patch.patch)
app.command("unpatch")(unpatch.unpatch)
app.command("status")(status.status)
