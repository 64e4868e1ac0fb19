"""An engine that keeps nothing: every prompt is prefilled whole."""

from cachediag.analysis.engines.model import CacheRequest, Served

__all__ = ["NoCache"]


class NoCache:
    """vllm-mlx before 0.4.0, and any engine whose cache is turned off.

    Source: `engine/simple.py` of vllm-mlx 0.2.0 to 0.3.0, whose text path holds no prompt cache
    across requests.
    """

    def __init__(self, name: str = "none") -> None:
        self.name = name

    def serve(self, request: CacheRequest) -> Served:  # noqa: ARG002
        """Reuse nothing, keep nothing."""
        return Served(0)
