"""V01: a billing header that has a block of its own goes; elsewhere its fields stand still."""

from collections.abc import Iterator, Sequence

from cachediag.compare.detectors import billing_header
from cachediag.rules.making.proposals.header_fields import NAME, Header, dropping, header, holding
from cachediag.rules.making.proposals.proposed import Material, Proposed, evidence
from cachediag.rules.making.proposals.texts import block_path
from cachediag.rules.making.values import Found
from cachediag.rules.rule import Rule

__all__ = ["still_headers"]

_DROPPED = "The model no longer sees the header, which means nothing to it."
_HELD = "The model sees the header with the fields that it had first; they mean nothing to it."


def still_headers(material: Material) -> Iterator[Proposed]:
    """Drop the block, or hold the fields that rotate; both where a session shows both forms."""
    for found in material.found:
        texts = [text for text in material.texts(found.spot) if header(text)]
        whole = [text for text in texts if _is_alone(text)]
        block = block_path(found.spot.path)
        if block is None:
            whole = []
        elif whole:
            yield from _drop(found, block, whole)
        more = [text for text in texts if text not in whole]
        if len(more) > 1:
            yield from _hold(found, more, not_alone=bool(whole))


def _is_alone(text: str) -> bool:
    made = header(text)
    return made is not None and not made.rest.strip()


def _drop(found: Found, block: str, texts: Sequence[str]) -> Iterator[Proposed]:
    pattern = dropping([_read(text) for text in texts])
    if pattern is not None:
        rule = Rule(
            "strip-billing-header",
            billing_header.CODE,
            "drop-block",
            found.spot.protocol,
            block,
            pattern,
            evidence=evidence([found], [text.removeprefix(NAME).strip() for text in texts]),
        )
        yield Proposed(rule, _DROPPED, (found,))


def _hold(found: Found, texts: Sequence[str], *, not_alone: bool) -> Iterator[Proposed]:
    held = holding([_read(text) for text in texts], not_alone=not_alone)
    if held is not None:
        rule = Rule(
            "hold-billing-header",
            billing_header.CODE,
            "replace",
            found.spot.protocol,
            found.spot.path,
            held.pattern,
            held.values[0],
            evidence=evidence([found], held.values),
        )
        yield Proposed(rule, _HELD, (found,))


def _read(text: str) -> Header:
    made = header(text)
    assert made is not None
    return made
