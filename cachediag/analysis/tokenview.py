"""The token view of a pair: where the shared prefix ends, and what each cause costs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from cachediag.compare import Comparison
from cachediag.compare.comparison import Cause
from cachediag.compare.undo import undone_body
from cachediag.model import Finding, Prompt, Section
from cachediag.protocol import Parser
from cachediag.render import Profile
from cachediag.render.rendered import Rendered
from cachediag.tokens.encoder import Encoder
from cachediag.tokens.sequence import TokenSequence

__all__ = ["Counter", "Known", "TokenView", "counted", "counted_findings", "token_view"]

_MOST_COUNTED = 64
"""Causes of one pair that are counted each: every one takes a whole prompt made anew."""


class Counter:
    """Counts the tokens of prompts as one backend renders them, each text once.

    Args:
        profile: what the backend makes of a request.
        encoder: the model's tokenizer.
        parser: the parser of the session, so that what was seen before is known again.
    """

    def __init__(self, profile: Profile, encoder: Encoder, parser: Parser) -> None:
        self.profile = profile
        self.encoder = encoder
        self.parser = parser

    def rendered(self, prompt: Prompt) -> Rendered:
        """What the backend's tokenizer is given."""
        return self.profile.render(prompt)

    def sequence(self, rendered: Rendered) -> TokenSequence:
        """The tokens of a rendered prompt."""
        return self.encoder.sequence(rendered.texts, rendered.talk)

    def tokens(self, prompt: Prompt) -> TokenSequence:
        """The tokens of a prompt."""
        return self.sequence(self.rendered(prompt))

    def is_exact(self, rendered: Rendered) -> bool:
        """Whether these are the tokens that the backend itself counts."""
        return rendered.exact and self.encoder.tokenizer.exact


@dataclass(frozen=True, slots=True)
class TokenView:
    """Two prompts in tokens."""

    a: int
    """Tokens of the earlier prompt."""
    b: int
    """Tokens of the later prompt."""
    shared: int
    """The shared prefix as sent."""
    reusable: int
    """The shared prefix once every break is undone."""
    lost: Mapping[Cause, int]
    """What undoing each cause alone would add to the shared prefix."""
    steps: tuple[tuple[Cause, int], ...]
    """What undoing each cause adds once the earlier ones are undone: together all of it."""
    exact: bool


class Known(NamedTuple):
    """Two prompts that were counted before."""

    a: TokenSequence
    b: TokenSequence
    exact: bool
    """Both as the backend itself counts them."""


def token_view(
    comparison: Comparison,
    counter: Counter,
    known: Known | None = None,
) -> TokenView:
    """Count a pair.

    Of very many causes only the first are counted one by one; what the others cost together is
    laid to the first of them.

    Args:
        comparison: the pair.
        counter: renders and encodes as the backend does.
        known: both prompts, where they were counted before.
    """
    known = known or _count(comparison, counter)
    a, b = known.a, known.b
    shared = a.shared(b)
    causes = [(finding.code, finding.path) for finding in comparison.breaks]
    lost = {
        cause: max(0, _undone(comparison, counter, a, {cause}) - shared)
        for cause in (causes[:_MOST_COUNTED] if len(causes) > 1 else ())
    }
    steps, reached = [], shared
    for number, cause in enumerate(causes[:_MOST_COUNTED]):
        further = max(reached, _undone(comparison, counter, a, set(causes[: number + 1])))
        steps.append((cause, further - reached))
        reached = further
    if rest := causes[_MOST_COUNTED:]:
        further = max(reached, _undone(comparison, counter, a, set(causes)))
        steps.append((rest[0], further - reached))
        reached = further
    return TokenView(
        a=len(a),
        b=len(b),
        shared=shared,
        reusable=reached,
        lost=lost or dict(steps),
        steps=tuple(steps),
        exact=known.exact,
    )


def _count(comparison: Comparison, counter: Counter) -> Known:
    first, second = (counter.rendered(prompt) for prompt in comparison.sent)
    exact = counter.is_exact(first) and counter.is_exact(second)
    return Known(counter.sequence(first), counter.sequence(second), exact)


def _undone(comparison: Comparison, counter: Counter, a: TokenSequence, undone: set[Cause]) -> int:
    prompt = _with_earlier_sections(comparison, undone)
    if prompt is None:
        body = undone_body(comparison, undone)
        prompt = counter.parser.parse(body, comparison.b.endpoint)
    return a.shared(counter.tokens(prompt))


def _with_earlier_sections(comparison: Comparison, undone: set[Cause]) -> Prompt | None:
    """The later prompt with whole sections of the earlier one, where that undoes the causes.

    A section whose every cause is undone is the earlier prompt's: there is no need to write it
    again. None where a cause stands in the talk, or among others that stay.
    """
    taken: set[Section] = set()
    left = set(undone)
    for stretch in comparison.stretches:
        causes = stretch.causes
        if not causes & undone:
            continue
        if stretch.section == "messages" or not causes <= undone or stretch.takes_messages:
            return None
        taken.add(stretch.section)
        left -= causes
    earlier, later = comparison.sent
    if left:
        return None
    return replace(
        later,
        runs=tuple(
            run
            for section in ("tools", "system", "messages")
            for run in (earlier if section in taken else later).runs
            if run.section == section
        ),
    )


def counted_findings(findings: Iterable[Finding], view: TokenView | None) -> tuple[Finding, ...]:
    """The findings with what each costs in tokens."""
    lost = view.lost if view else {}
    return tuple(
        replace(found, tokens_lost=lost.get((found.code, found.path))) for found in findings
    )


def counted(comparison: Comparison, view: TokenView) -> Comparison:
    """The comparison with what each of its findings costs in tokens."""
    return replace(comparison, findings=counted_findings(comparison.findings, view))
