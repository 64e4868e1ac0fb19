"""`cachediag fix unpatch`: vllm-mlx as it was."""

from cachediag.cli.fix.patch import DryRunOption, PythonOption, SiteOption, carry_out
from cachediag.cli.options import Format, FormatOption

__all__ = ["unpatch"]


def unpatch(
    python: PythonOption = None,
    site: SiteOption = None,
    dry_run: DryRunOption = False,
    format_: FormatOption = Format.text,
) -> None:
    """Take the prefix cache out again: every file is as it was.

    \b
    Examples:
      cachediag fix unpatch --python ~/mlx/bin/python --dry-run
      cachediag fix unpatch --python ~/mlx/bin/python
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.fix.patch import named, plan_unpatch, state_of

    carry_out(plan_unpatch(state_of(named(python, site))), dry_run=dry_run, format_=format_)
