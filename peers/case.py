"""The case collection as any tool is given it, and what each case says is the right answer."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

__all__ = ["CASES", "Case", "bare", "fits", "load"]

CASES = Path(__file__).parents[1] / "fixtures" / "cases"

_DEEPER = re.compile(r"[.\[]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case, read."""

    name: str
    folder: Path
    kind: str
    """`pair`, `session` or `lint`."""
    endpoint: str
    """`messages`, `chat` or `responses`."""
    profile: str
    near_miss_of: str | None
    causes: Mapping[str, tuple[str, ...]]
    """Each code that must be found → its JSON paths; none where the cause lies in the cache."""
    answer: Mapping[str, Any]
    """The whole of `case.toml`."""

    @property
    def files(self) -> list[Path]:
        """The requests, in order."""
        return sorted(self.folder.glob("?.json"))

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The requests, decoded."""
        return [json.loads(path.read_bytes()) for path in self.files]

    @property
    def played(self) -> bool:
        """Whether the answer says what a cache does, its minimum and lifetimes included."""
        return "engine" in self.answer


def load(folder: Path = CASES) -> list[Case]:
    """Every case below a folder, by name."""
    return [_case(path.parent) for path in sorted(folder.glob("*/case.toml"))]


def bare(case: Case, folder: Path) -> Case:
    """The same case with every `cache_control` taken out of its requests, written to a folder."""
    for path, body in zip(case.files, case.bodies, strict=True):
        (folder / path.name).write_text(json.dumps(_bare(body)), encoding="utf-8")
    return replace(case, folder=folder)


def fits(told: str, path: str) -> bool:
    """Whether a place that a tool tells is that of the answer, as far as the tool tells one.

    Either may go deeper than the other: `system[0]` and `tools[3].description` are right for
    `system[0].text` and `tools`; `messages[1]` is wrong for `messages[10]`.
    """
    short, long = sorted((told, path), key=len)
    return long.startswith(short) and (long == short or bool(_DEEPER.match(long[len(short)])))


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _bare(each) for key, each in value.items() if key != "cache_control"}
    return [_bare(each) for each in value] if isinstance(value, list) else value


def _case(folder: Path) -> Case:
    answer = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    codes = [*answer["breaks"], *answer["costs"], *answer.get("reasons", {}).values()]
    paths = answer.get("paths", {})
    return Case(
        name=folder.name,
        folder=folder,
        kind=answer["kind"],
        endpoint=answer["endpoint"],
        profile=answer["profile"],
        near_miss_of=answer.get("near_miss_of"),
        causes=MappingProxyType({code: _several(paths.get(code, [])) for code in codes}),
        answer=MappingProxyType(answer),
    )


def _several(paths: str | list[str]) -> tuple[str, ...]:
    return (paths,) if isinstance(paths, str) else tuple(paths)
