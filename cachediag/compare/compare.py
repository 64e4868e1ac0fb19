"""Hold two prompts against each other."""

from collections.abc import Callable, Sequence
from operator import attrgetter

from cachediag.compare import sections
from cachediag.compare.causes import causes, marked_volatile, parameters
from cachediag.compare.comparison import Comparison, Entry, Stretch, shared_after
from cachediag.compare.harmless import harmless, other_fields
from cachediag.heads import common_head
from cachediag.model import Part, Prompt, Section
from cachediag.render import Profile, default_profile

__all__ = ["compare"]

_BLOCKS = attrgetter("blocks")


def compare(
    a: Prompt, b: Prompt, profile: Profile | None = None, *, one_talk: bool = True
) -> Comparison:
    """What changed from one request to a later one, and what it does to their shared prefix.

    All causes are found at once: the blocks are aligned, so a cause behind the first is seen as
    if the earlier ones were undone.

    Args:
        a: the earlier request's prompt.
        b: the later request's prompt.
        profile: the backend whose order counts; by default the hosted order for
            `/v1/messages`, the generic one for the other protocols.
        one_talk: both are turns of one conversation. Otherwise only what stands before the
            conversation is compared for causes, for two talks may well differ.
    """
    profile = profile or default_profile(b.endpoint)
    sent = a, b
    a, b = profile.arrange(a), profile.arrange(b)
    stretches = (
        _stretch(a, b, "tools", sections.tools),
        _stretch(a, b, "system", sections.system),
        _stretch(a, b, "messages", sections.messages if one_talk else sections.other_talk),
    )
    breaks = [*parameters(a, b), *causes(stretches, b)]
    undone = {(finding.code, finding.path) for finding in breaks}
    return Comparison(
        profile=profile.name,
        a=a,
        b=b,
        sent=sent,
        stretches=stretches,
        findings=(
            *breaks,
            *marked_volatile(stretches),
            *harmless(a, b, stretches, broken=bool(breaks)),
        ),
        other_fields=other_fields(a, b),
        shared_blocks=shared_after(stretches, ()),
        reusable_blocks=shared_after(stretches, undone),
    )


def _stretch(
    a: Prompt,
    b: Prompt,
    section: Section,
    entries: Callable[[sections.Rest], list[Entry]],
) -> Stretch:
    """Set aside the parts at the head that are the same to the byte, align what follows."""
    head = _same_parts(a.parts(section), b.parts(section))
    blocks = sum(map(len, map(_BLOCKS, b.parts(section)[:head])))
    rest = sections.Rest(
        a.place(section, head), b.place(section, head), later=b, head=head, head_blocks=blocks
    )
    found = tuple(entries(rest)) if rest.a or rest.b else ()
    return Stretch(
        section=section,
        head=head,
        head_blocks=blocks,
        entries=found,
        reordered=section == "tools" and _reordered(found),
    )


def _same_parts(a: tuple[Part, ...], b: tuple[Part, ...]) -> int:
    """How many parts at the head are the same to the byte.

    Parts of one parser are one object where they are the same, which tuples compare at once.
    """
    low = common_head(a, b)
    while low < min(len(a), len(b)) and _same_part(a[low], b[low]):
        low += 1
    return low


def _same_part(a: Part, b: Part) -> bool:
    return a is b or (a.raw == b.raw and a.digest == b.digest)


def _reordered(tools: Sequence[Entry]) -> bool:
    places = [entry.a.start for entry in tools if entry.a and entry.b]
    return places != sorted(places)
