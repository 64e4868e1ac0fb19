"""Turning off vllm-mlx's own removal of the billing header, in a copy of a release.

Releases from 0.2.8 on remove it themselves, some from a user's text too. What a rotating header
costs, and what a rule of one's own is worth, can only be measured where it reaches the prompt. The
pattern that finds the header is given an empty negative lookahead, which never matches; nothing
else is touched.
"""

from dataclasses import dataclass
from pathlib import Path

from cachediag.errors import InputError

__all__ = ["keep_billing_header"]

_MARK = "  # cachediag: never matches"


@dataclass(frozen=True, slots=True)
class _Edit:
    """A line of upstream's, and what stands for it."""

    file: str
    line: str

    @property
    def changed(self) -> str:
        return self.line.replace('r"', 'r"(?!)').replace('r"(?!)(?im)', 'r"(?im)(?!)') + _MARK


_EDITS = (
    # 0.2.8 to 0.4.1, `/v1/messages`.
    _Edit(
        "vllm_mlx/api/anthropic_adapter.py",
        r'system_text = re.sub(r"x-anthropic-billing-header:[^\n]*\n?", "", system_text)',
    ),
    # From 0.4.0 `/v1/chat/completions`, from 0.5.0 both.
    _Edit(
        "vllm_mlx/api/prompt_canonicalize.py",
        r're.compile(r"(?im)^x-anthropic-billing-header:[^\n]*(?:\n|$)"),',
    ),
)


def keep_billing_header(site: Path) -> int:
    """Let the billing header through, in a copy of a release of vllm-mlx.

    Args:
        site: as from `copy_of`.

    Returns:
        How many places were changed: 0 for a release that never removed the header, and for a copy
        that was changed before.

    Raises:
        InputError: it names the header in a way that is not known, or holds no vllm-mlx.
    """
    if not (site / "vllm_mlx").is_dir():
        raise InputError(
            "holds no vllm-mlx", where=str(site), remedy="Give a directory made by copy_of."
        )
    _check(site)
    count = 0
    for edit in _EDITS:
        file = site / edit.file
        if not file.is_file():
            continue
        text = file.read_bytes().decode()
        wanted = text.replace(edit.changed, edit.line).replace(edit.line, edit.changed)
        if wanted != text:
            # A copy may share its files with the original: the new text is a new file.
            file.unlink()
            file.write_bytes(wanted.encode())
            count += 1
    return count


def _check(site: Path) -> None:
    """Refuse a release whose way of removing the header is not known."""
    known = {line for edit in _EDITS for line in (edit.line, edit.changed)}
    for file in sorted((site / "vllm_mlx").rglob("*.py")):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            text = line.strip()
            if "billing-header:" in text and text not in known and not text.startswith("#"):
                raise InputError(
                    "removes the billing header in a way that is not known",
                    where=str(file),
                    remedy="Use a release of vllm-mlx from 0.2.6 to 0.6.0.",
                )
