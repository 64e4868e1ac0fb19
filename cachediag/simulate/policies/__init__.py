"""The table of routing policies: one a file, named as on the command line.

`NAME[:Parameter=value[,Parameter=value]]`, for example `random`,
`sagemaker:PrefixLength=4096,ConcurrencyThreshold=32`.
"""

from collections.abc import Callable

from cachediag.analysis.spec import entry, options
from cachediag.simulate.model import Policy
from cachediag.simulate.policies.least_outstanding import LeastOutstanding
from cachediag.simulate.policies.random_ import Random
from cachediag.simulate.policies.round_robin import RoundRobin

__all__ = ["POLICIES", "policy"]

POLICIES: dict[str, Callable[..., Policy]] = {
    each.name: each
    for each in (
        Random,
        RoundRobin,
        LeastOutstanding,
    )
}


def policy(spec: str) -> Policy:
    """A new policy, which has seen nothing, as a specification names it.

    Raises:
        UsageError: no policy has that name, or it has no such parameter, or not that value.
    """
    name, _, rest = spec.partition(":")
    build = entry(POLICIES, "routing policy", name)
    return build(**options(name, build, rest))
