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
    """A cache could have kept most of its prompt."""
    is_turn: bool = True
    """Its times count for the medians; those of auxiliary requests do not."""
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
    reported_prompt: int | None = None
    """Tokens of the prompt as the backend counts them; None where it does not say."""
    source: str | None = None
    """Where the backend says what it reused."""
    exact: bool = True
    """The tokens are counted by the model's own tokenizer and template."""

    @property
    def came(self) -> bool | None:
        """Whether at least what was predicted was reused; None where nothing was measured.

        Where tokens are an estimate, so is this.
        """
        if self.reused is None:
            return None
        return self.reused >= (self.predicted if self.exact else self.predicted * _ROUGHLY)


_ROUGHLY = 0.8
