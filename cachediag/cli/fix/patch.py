"""`cachediag fix patch`: a prefix cache for a local vllm-mlx."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli.console import out, write
from cachediag.cli.options import Format, FormatOption

if TYPE_CHECKING:
    from cachediag.fix.patch import Plan

__all__ = ["DryRunOption", "PythonOption", "SiteOption", "carry_out", "patch"]

_GB = 10**9

PythonOption = Annotated[
    Path | None,
    typer.Option(
        "--python",
        metavar="PATH",
        help="The interpreter that runs vllm-mlx; by default that of `vllm-mlx` on PATH.",
        show_default=False,
    ),
]
SiteOption = Annotated[
    Path | None,
    typer.Option(
        "--site",
        metavar="DIR",
        help="The directory of packages that vllm_mlx is in, instead of --python.",
        show_default=False,
    ),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Print what would be changed, and change nothing.")
]


class _Scope(StrEnum):
    """How much of a prompt is kept."""

    system = "system"
    conversation = "conversation"


def patch(  # noqa: PLR0917 - a parameter is an option
    python: PythonOption = None,
    site: SiteOption = None,
    slots: Annotated[
        int, typer.Option(min=1, max=64, help="How many system prompts are kept, with their tools.")
    ] = 4,
    scope: Annotated[
        _Scope, typer.Option(help="Keep system prompts alone, or what follows them too.")
    ] = _Scope.conversation,
    max_memory: Annotated[
        float | None,
        typer.Option(
            metavar="GB",
            min=0.001,
            help="How much memory it may take; by default a quarter of the machine's.",
            show_default=False,
        ),
    ] = None,
    dry_run: DryRunOption = False,
    format_: FormatOption = Format.text,
) -> None:
    """Give a local vllm-mlx a prefix cache.

    A module is put beside the engine, and a marked block at the end of engine/simple.py, whose
    original is kept. The server takes it up when it is started again.

    \b
    Examples:
      cachediag fix patch --python ~/mlx/bin/python --dry-run
      cachediag fix patch --python ~/mlx/bin/python --slots 8
      cachediag fix patch --site ~/mlx/lib/python3.12/site-packages --scope system
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.fix.patch import Options, named, plan_patch, state_of

    limit = None if max_memory is None else int(max_memory * _GB)
    state = state_of(named(python, site))
    plan = plan_patch(state, Options(slots, scope.value, limit))
    carry_out(plan, dry_run=dry_run, format_=format_)


def carry_out(plan: "Plan", *, dry_run: bool, format_: Format) -> None:
    """Make a plan's changes, or show them, and say which they are.

    Raises:
        CachediagError: a file cannot be changed.
    """
    from cachediag.fix.patch import apply
    from cachediag.report import documents
    from cachediag.report.patch import PlanReport, diff, document

    if not dry_run:
        apply(plan)
    if format_ is Format.json:
        write(documents.dumps(document(plan, is_dry_run=dry_run)))
        return
    if dry_run:
        write(diff(plan))
    out().print(PlanReport(plan, is_dry_run=dry_run))
