"""A prefix cache for a local vllm-mlx: put into an installation, taken out, and told of."""

from cachediag.fix.patch.apply import apply
from cachediag.fix.patch.hook import Options, Scope
from cachediag.fix.patch.plan import Change, Plan, plan_patch, plan_unpatch
from cachediag.fix.patch.releases import Release, releases
from cachediag.fix.patch.running import Force, in_force
from cachediag.fix.patch.site import Installation, at_site, named, of_python
from cachediag.fix.patch.state import Kind, PatchState, state_of

__all__ = [
    "Change",
    "Force",
    "Installation",
    "Kind",
    "Options",
    "PatchState",
    "Plan",
    "Release",
    "Scope",
    "apply",
    "at_site",
    "in_force",
    "named",
    "of_python",
    "plan_patch",
    "plan_unpatch",
    "releases",
    "state_of",
]
