"""What one replayed request came to."""

from dataclasses import dataclass

__all__ = ["Measured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One request, sent once. Times are in seconds."""

    arm: str
    repeat: int
    """From 0; the round that the arm was run in."""
    index: int
    """The request's number in the recorded session."""
    lane: str
    warm: bool
    """An earlier request of the replay shares a prefix with it that a cache could have kept."""
    first_token: float | None
    """From sending the request to the first generated token; None where that cannot be told."""
    total: float
    """From sending the request to the response's end."""
    prompt_tokens: int
    """As counted by profile and tokenizer."""
    predicted: int
    """Tokens that the cache model reuses."""
    reused: int | None
    """Tokens that the backend says it reused; None where nothing tells."""

    @property
    def agrees(self) -> bool | None:
        """Whether prediction and measurement are equal; None where nothing was measured."""
        return None if self.reused is None else self.predicted == self.reused
