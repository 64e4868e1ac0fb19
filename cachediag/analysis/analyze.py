"""A session in tokens: what was shared, what an engine reused, and what each cause cost."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from cachediag.analysis.analysed import Analysed, Blame
from cachediag.analysis.calibration import Calibration
from cachediag.analysis.choice import Choice
from cachediag.analysis.engines import CacheRequest
from cachediag.analysis.engines.tree import PrefixTree
from cachediag.analysis.policy import policy_findings
from cachediag.analysis.requests import Request, Walk
from cachediag.analysis.seams import Earlier, Seam, mended_seam, prompt_seam, reply_seam
from cachediag.analysis.serving import cache_request
from cachediag.analysis.summary import Analysis, CauseCost, summarise
from cachediag.analysis.tokenview import Counter, Known, TokenView, counted_findings, token_view
from cachediag.compare import Comparison
from cachediag.errors import InputError
from cachediag.model import Exchange, Finding, Prompt
from cachediag.render.rendered import Rendered
from cachediag.tokens.sequence import TokenSequence

__all__ = ["Analysed", "Analysis", "CauseCost", "analyse", "summarise"]


@dataclass(slots=True)
class _Seen:
    """What is kept of earlier requests: their tokens share their chunks."""

    calibration: Calibration
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
    seen = _Seen(Calibration(choice.counter.encoder.tokenizer))
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


@dataclass(frozen=True, slots=True)
class _Counted:
    """A request's prompt, as the backend's tokenizer takes it."""

    prompt: Prompt
    rendered: Rendered
    tokens: TokenSequence


def _analysed(request: Request, exchange: Exchange, choice: Choice, seen: _Seen) -> Analysed:
    assert request.prompt is not None
    info, counter = request.info, choice.counter
    rendered = counter.rendered(request.prompt)
    tokens = counter.sequence(rendered)
    own = _Counted(request.prompt, rendered, tokens)
    seen.calibration.add(request.lane, info, len(tokens))
    _, shared = seen.tree.visit(tokens, request.lane, 0, 0)
    generated = choice.generated(exchange)
    _, earlier = seen.latest.get(request.lane, (None, None))
    with_reply = tokens.shared(earlier.reply) if earlier and earlier.reply else 0
    known = max(shared, with_reply)
    asked = _asked(request, own, choice, seen, shared=known, generated=generated)
    served = choice.engine.serve(asked)
    exact = counter.is_exact(rendered)
    view = _view(request, tokens, counter, seen, exact=exact)
    seen.tokens[info.index] = tokens
    seam = _seam(request, own, view, choice, seen)
    reply = Earlier(rendered, tokens, asked.reply, generated or "")
    seen.latest[request.lane] = (info.index, reply)
    broken = view is not None and bool(view.steps)
    policy = policy_findings(served, known, broken=broken)
    # Without a reason nothing but the reply's last tokens was fed again.
    held = max(known if served.reason else shared, served.reused, view.reusable if view else 0)
    if seam and broken:
        held = max(held, seam.start)
    # What was taken out of the prompt comes back with its cause undone, and was not prefilled.
    held = min(held, len(tokens))
    ceiling = max(held, seam.end if seam else 0)
    causes = _causes(view, seam, policy, reused=served.reused, held=held, ceiling=ceiling)
    found = counted_findings(request.findings, view)
    return Analysed(
        info=info,
        lane=request.lane,
        kind=request.kind,
        parent=request.parent,
        prompt_tokens=len(tokens),
        shared_tokens=shared,
        reused_tokens=served.reused,
        avoidable_tokens=ceiling - served.reused,
        created_tokens=served.created,
        created_1h_tokens=served.created_1h,
        exact=exact,
        findings=(*found, *((seam.finding,) if seam else ()), *policy),
        blamed=_blame(causes, ceiling - served.reused),
    )


def _asked(
    request: Request,
    own: _Counted,
    choice: Choice,
    seen: _Seen,
    *,
    shared: int,
    generated: str | None,
) -> CacheRequest:
    info, encoder = request.info, choice.counter.encoder
    asked = cache_request(
        own.prompt,
        own.rendered,
        encoder,
        index=info.index,
        lane=request.lane,
        shared=shared,
        tokens=own.tokens,
        generated=generated,
        info=info,
    )
    if not choice.is_hosted:
        return asked
    factor = seen.calibration.factor(request.lane, info.model)
    return choice.places.with_blocks(asked, own.prompt, own.rendered, token_factor=factor)


def _view(
    request: Request, tokens: TokenSequence, counter: Counter, seen: _Seen, *, exact: bool
) -> TokenView | None:
    held, index = _held(request)
    if held is None or index is None or index not in seen.tokens:
        return None
    before = seen.tokens[index]
    latest, earlier = seen.latest.get(request.lane, (None, None))
    if held.breaks and index == latest and earlier is not None and earlier.reply is not None:
        # The engine holds the reply too: with the causes undone it is found up to its end.
        before = earlier.reply
    return token_view(held, counter, Known(before, tokens, exact))


def _held(request: Request) -> tuple[Comparison | None, int | None]:
    """The pair that tells what broke, and the number of the earlier request."""
    if request.against_latest:
        return request.against_latest, request.latest
    return request.comparison, request.parent


def _seam(
    request: Request, own: _Counted, view: TokenView | None, choice: Choice, seen: _Seen
) -> Seam | None:
    """What is lost where a request goes on from the one before."""
    latest, earlier = seen.latest.get(request.lane, (None, None))
    counter = choice.counter
    if earlier is None or not counter.encoder.tokenizer.exact:
        return None
    prompt, rendered, tokens = own.prompt, own.rendered, own.tokens
    if latest == request.parent and not request.breaks:
        behind_reply = reply_seam(earlier, prompt, rendered, tokens, counter.encoder)
        return behind_reply or prompt_seam(earlier, prompt, rendered, tokens)
    held, index = _held(request)
    if held is None or view is None or index != latest or earlier.reply is None:
        return None
    reached = view.reusable >= len(earlier.reply)
    return None if reached else mended_seam(earlier, held, prompt, tokens, counter)


def _causes(
    view: TokenView | None,
    seam: Seam | None,
    policy: Sequence[Finding],
    *,
    reused: int,
    held: int,
    ceiling: int,
) -> list[Blame]:
    """What the tokens between those reused and the ceiling can be laid to, from front to back.

    Args:
        view: the causes in the text, and how much each adds once those before are undone.
        seam: what was lost behind all of them, where the reply comes back.
        policy: what the engine's own rules cost.
        reused: tokens that the engine reuses.
        held: tokens that it would reuse without the causes in the text.
        ceiling: tokens that it would reuse with the reply as it was, too.
    """
    causes = [(*cause, gained) for cause, gained in view.steps if gained] if view else []
    engine = policy[0].code if policy else "-"
    if seam is None or ceiling == held:
        return causes or [(engine, None, ceiling - reused)]
    # What cannot be trimmed is lost by the change; rounding is lost with what it rounds.
    if not causes and policy and engine != "P05":
        causes = [(engine, None, held - reused)]
    return [*causes, (seam.finding.code, seam.finding.path, ceiling - held)]


def _blame(causes: Sequence[Blame], left: int) -> tuple[Blame, ...]:
    """Share out the avoidable tokens.

    Where the text broke, what the engine did not reuse of the rest is laid to the first cause:
    a key or a breakpoint behind the break could not be found again.
    """
    rows = []
    for code, path, gained in reversed(causes[1:]):
        taken = min(left, gained)
        left -= taken
        rows.append((code, path, taken))
    code, path, _ = causes[0]
    rows.append((code, path, left))
    return tuple(row for row in reversed(rows) if row[2])
