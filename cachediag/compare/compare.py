"""Hold two prompts against each other."""

from collections.abc import Sequence
from dataclasses import replace

from cachediag.compare import sections
from cachediag.compare.causes import causes, marked_volatile, parameters
from cachediag.compare.comparison import Comparison, Entry, common_blocks, rebuild
from cachediag.compare.harmless import harmless, other_fields
from cachediag.model import Block, Prompt, Section
from cachediag.protocol import jsontext
from cachediag.render import Profile, default_profile

__all__ = ["compare"]


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
    a_blocks, b_blocks = profile.arrange(a), profile.arrange(b)
    tools = sections.tools(_part(a_blocks, "tools"), _part(b_blocks, "tools"), b)
    entries = (
        *tools,
        *sections.system(_part(a_blocks, "system"), _part(b_blocks, "system"), b),
        *sections.messages(
            _part(a_blocks, "messages"), _part(b_blocks, "messages"), b, one_talk=one_talk
        ),
    )
    tools_reordered = _reordered(tools)
    breaks = [*parameters(a, b), *causes(entries, b, tools_reordered=tools_reordered)]
    offset = _first_difference(a.body, b.body)
    bare = Comparison(
        profile=profile.name,
        a=a,
        b=b,
        a_blocks=a_blocks,
        b_blocks=b_blocks,
        entries=entries,
        tools_reordered=tools_reordered,
        findings=(
            *breaks,
            *marked_volatile(entries),
            *harmless(a, b, entries, broken=bool(breaks)),
        ),
        other_fields=other_fields(a, b),
        shared_blocks=common_blocks(a_blocks, b_blocks),
        first_difference=offset,
        first_path=None if offset is None else jsontext.path_at(b.body, offset),
    )
    undone = rebuild(bare, {(finding.code, finding.path) for finding in breaks})
    return replace(bare, reusable_blocks=common_blocks(a_blocks, undone))


def _part(blocks: Sequence[Block], section: Section) -> list[Block]:
    return [block for block in blocks if block.section == section]


def _reordered(tools: Sequence[Entry]) -> bool:
    places = [entry.a.start for entry in tools if entry.a and entry.b]
    return places != sorted(places)


def _first_difference(a: bytes, b: bytes) -> int | None:
    """Offset of the first byte that differs; the shorter length where one begins the other."""
    if a == b:
        return None
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
