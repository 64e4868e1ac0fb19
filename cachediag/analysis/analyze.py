"""A session in tokens: what was shared, what an engine reused, and what each cause cost."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from cachediag.analysis.choice import Choice
from cachediag.analysis.engines import Served
from cachediag.analysis.engines.tree import PrefixTree
from cachediag.analysis.hosted import with_blocks
from cachediag.analysis.lanes import Kind
from cachediag.analysis.policy import policy_findings
from cachediag.analysis.requests import Request, Walk
from cachediag.analysis.seams import KEEP_REPLIES, Earlier, prompt_seam, reply_seam
from cachediag.analysis.serving import cache_request, generated_text
from cachediag.analysis.tokenview import Counter, Known, TokenView, counted_findings, token_view
from cachediag.errors import InputError
from cachediag.model import Exchange, ExchangeInfo, Finding, Prompt
from cachediag.protocol.reply import read_reply
from cachediag.render.rendered import Rendered
from cachediag.tokens.sequence import TokenSequence

__all__ = ["Analysed", "Analysis", "CauseCost", "analyse", "summarise"]

# A rate that is taken from fewer tokens measures the start of the request, not the prefill.
_LEAST_PREFILL = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysed:
    """One request in tokens. Prompt tokens are reused, avoidable or new."""

    info: ExchangeInfo
    lane: str
    kind: Kind
    parent: int | None
    prompt_tokens: int = 0
    shared_tokens: int = 0
    """The longest prefix shared with any earlier request, as sent."""
    reused_tokens: int = 0
    """What the engine's cache model reuses."""
    avoidable_tokens: int = 0
    """Prefilled again though the causes found could be removed."""
    exact: bool = False
    findings: tuple[Finding, ...] = ()
    blamed: tuple[tuple[str, str | None, int], ...] = ()
    """The avoidable tokens by cause: code, path, tokens. Code `-` is the engine's design."""
    problem: str | None = None

    @property
    def new_tokens(self) -> int:
        """What no earlier request held."""
        return self.prompt_tokens - self.reused_tokens - self.avoidable_tokens


@dataclass(frozen=True, slots=True)
class CauseCost:
    """One cause over the session."""

    code: str
    path: str | None
    requests: int
    tokens_lost: int


@dataclass(frozen=True, slots=True)
class Analysis:
    """A whole session."""

    profile: str
    model: str
    engine: str
    requests: tuple[Analysed, ...]
    causes: tuple[CauseCost, ...]
    """The costliest first."""
    prefill_rate: float | None
    """Tokens a second, measured or given; None where nothing tells."""

    @property
    def prompt_tokens(self) -> int:
        """All tokens of all prompts."""
        return sum(request.prompt_tokens for request in self.requests)

    @property
    def reused_tokens(self) -> int:
        """Of these, what the engine reused."""
        return sum(request.reused_tokens for request in self.requests)

    @property
    def avoidable_tokens(self) -> int:
        """Of these, what was prefilled again though its cause could be removed."""
        return sum(request.avoidable_tokens for request in self.requests)

    @property
    def exact(self) -> bool:
        """Every count is exact."""
        return all(request.exact for request in self.requests if request.prompt_tokens)

    @property
    def hit_rate(self) -> float:
        """The share of prompt tokens that was reused."""
        return self.reused_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def hit_rate_ceiling(self) -> float:
        """The share that would be reused with every cause removed."""
        could = self.reused_tokens + self.avoidable_tokens
        return could / self.prompt_tokens if self.prompt_tokens else 0.0


@dataclass(slots=True)
class _Seen:
    """What is kept of earlier requests: their tokens share their chunks."""

    tokens: dict[int, TokenSequence] = field(default_factory=dict)
    latest: dict[str, tuple[int, Earlier]] = field(default_factory=dict)
    """The latest request of each lane."""
    tree: PrefixTree = field(default_factory=PrefixTree)


def analyse(
    exchanges: Iterable[Exchange],
    load: Callable[[int], Exchange],
    choice: Choice,
) -> Iterator[Analysed]:
    """Count the requests of a session and play them to a cache model, one by one.

    Args:
        exchanges: the session's exchanges in order.
        load: reads one exchange again by its index.
        choice: what to render, encode and play by; its cache model is used up.
    """
    walk = Walk(load, choice.counter.profile, choice.counter.parser)
    seen = _Seen()
    for exchange in exchanges:
        if exchange.info.endpoint == "other":
            continue
        request = walk.step(exchange)
        if request.kind == "count" or request.prompt is None:
            yield _bare(request, request.problem)
            continue
        try:
            yield _analysed(request, exchange, choice, seen)
        except InputError as error:
            yield _bare(request, str(error))


def _bare(request: Request, problem: str | None) -> Analysed:
    return Analysed(
        info=request.info,
        lane=request.lane,
        kind=request.kind,
        parent=request.parent,
        findings=request.findings,
        problem=problem,
    )


def _analysed(request: Request, exchange: Exchange, choice: Choice, seen: _Seen) -> Analysed:
    assert request.prompt is not None
    info, prompt, counter = request.info, request.prompt, choice.counter
    rendered = counter.rendered(prompt)
    tokens = counter.sequence(rendered)
    _, shared = seen.tree.visit(tokens, request.lane, 0, 0)
    exact = counter.is_exact(rendered)
    view = _view(request, tokens, counter, seen, exact=exact)
    number, earlier = seen.latest.get(request.lane, (None, None))
    with_reply = tokens.shared(earlier.reply) if earlier and earlier.reply else 0
    generated = _generated(exchange, choice)
    asked = cache_request(
        prompt,
        rendered,
        counter.encoder,
        index=info.index,
        lane=request.lane,
        shared=max(shared, with_reply),
        tokens=tokens,
        generated=generated,
        info=info,
    )
    if choice.is_hosted:
        asked = with_blocks(asked, prompt, rendered, counter.encoder)
    served = choice.engine.serve(asked)
    seen.tokens[info.index] = tokens
    seam = None
    goes_on = number == request.parent and not request.breaks
    if earlier is not None and goes_on and counter.encoder.tokenizer.exact:
        seam = _seam(earlier, prompt, rendered, tokens, choice)
    seen.latest[request.lane] = (
        info.index,
        Earlier(rendered, tokens, asked.reply, generated or ""),
    )
    ceiling = max(shared, served.reused, view.reusable if view else 0)
    found = counted_findings(request.findings, view)
    broken = view is not None and bool(view.steps)
    policy = policy_findings(served, max(shared, with_reply), broken=broken)
    return Analysed(
        info=info,
        lane=request.lane,
        kind=request.kind,
        parent=request.parent,
        prompt_tokens=len(tokens),
        shared_tokens=shared,
        reused_tokens=served.reused,
        avoidable_tokens=ceiling - served.reused,
        exact=exact,
        findings=(*found, *((seam,) if seam else ()), *policy),
        blamed=_blame(view, served, ceiling, policy),
    )


def _seam(
    earlier: Earlier, prompt: Prompt, rendered: Rendered, tokens: TokenSequence, choice: Choice
) -> Finding | None:
    """What is lost where a request goes on from the one before."""
    kept = choice.engine.name.partition(":")[0].partition("@")[0] in KEEP_REPLIES
    behind_reply = reply_seam(earlier, prompt, rendered, tokens) if kept else None
    return behind_reply or prompt_seam(earlier, prompt, rendered, tokens)


def _view(
    request: Request, tokens: TokenSequence, counter: Counter, seen: _Seen, *, exact: bool
) -> TokenView | None:
    held = request.against_latest or request.comparison
    index = request.latest if request.against_latest else request.parent
    if held is None or index is None or index not in seen.tokens:
        return None
    return token_view(held, counter, Known(seen.tokens[index], tokens, exact))


def _generated(exchange: Exchange, choice: Choice) -> str | None:
    info = exchange.info
    kind = info.response_headers.get("content-type")
    reply = read_reply(info.endpoint, kind, exchange.response) if exchange.response else None
    if reply is None:
        return None
    return generated_text(reply, choice.template, choice.counter.encoder)


def _blame(
    view: TokenView | None, served: Served, ceiling: int, policy: Sequence[Finding]
) -> tuple[tuple[str, str | None, int], ...]:
    """Share out the avoidable tokens: to the causes in the text, or else to the engine.

    Where the text broke, what the engine did not reuse of the rest is laid to the first cause:
    a key or a breakpoint behind the break could not be found again.
    """
    left = ceiling - served.reused
    steps = [(cause, gained) for cause, gained in view.steps if gained] if view else []
    if left <= 0:
        return ()
    if not steps:
        return ((policy[0].code if policy else "-", None, left),)
    rows = []
    for (code, path), gained in reversed(steps[1:]):
        taken = min(left, gained)
        left -= taken
        rows.append((code, path, taken))
    (code, path), _ = steps[0]
    rows.append((code, path, left))
    return tuple(row for row in reversed(rows) if row[2])


def summarise(
    requests: Iterable[Analysed], choice: Choice, prefill_rate: float | None = None
) -> Analysis:
    """Put the requests of a session together, its causes ranked.

    Args:
        requests: as `analyse` gives them.
        choice: what they were analysed by.
        prefill_rate: tokens a second; by default measured from the recorded times to first token.
    """
    found = tuple(requests)
    costs: defaultdict[tuple[str, str | None], list[int]] = defaultdict(list)
    for request in found:
        for code, path, tokens in request.blamed:
            costs[code, path].append(tokens)
    causes = [
        CauseCost(code, path, len(tokens), sum(tokens)) for (code, path), tokens in costs.items()
    ]
    return Analysis(
        profile=choice.counter.profile.name,
        model=choice.model,
        engine=choice.engine.name,
        requests=found,
        causes=tuple(sorted(causes, key=lambda cause: -cause.tokens_lost)),
        prefill_rate=prefill_rate or _measured_rate(found),
    )


def _measured_rate(requests: Sequence[Analysed]) -> float | None:
    rates = []
    for request in requests:
        first, started = request.info.first_token, request.info.started
        prefilled = request.prompt_tokens - request.reused_tokens
        if first is not None and started is not None and prefilled >= _LEAST_PREFILL:
            rates.append(prefilled / max(first - started, 1e-3))
    return median(rates) if rates else None
