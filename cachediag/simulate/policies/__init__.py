"""The table of routing policies: one a file, named as on the command line.

`NAME[:Parameter=value[,Parameter=value]]`, for example `random`,
`sagemaker:PrefixLength=4096,ConcurrencyThreshold=32`.
"""

from collections.abc import Callable

from cachediag.analysis.spec import entry, options
from cachediag.simulate.model import Policy
from cachediag.simulate.policies.dynamo import Dynamo
from cachediag.simulate.policies.least_outstanding import LeastOutstanding
from cachediag.simulate.policies.llm_d import LlmD
from cachediag.simulate.policies.production_stack import ProductionStack
from cachediag.simulate.policies.random_ import Random
from cachediag.simulate.policies.ray import Ray
from cachediag.simulate.policies.round_robin import RoundRobin
from cachediag.simulate.policies.sagemaker import SageMaker
from cachediag.simulate.policies.session_hash import SessionHash
from cachediag.simulate.policies.sglang import SGLang

__all__ = ["POLICIES", "policy"]

POLICIES: dict[str, Callable[..., Policy]] = {
    each.name: each
    for each in (
        Random,
        RoundRobin,
        LeastOutstanding,
        SessionHash,
        SageMaker,
        SGLang,
        ProductionStack,
        LlmD,
        Dynamo,
        Ray,
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
