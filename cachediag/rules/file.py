"""Rule files: TOML that people read, review and commit."""

import re
import tomllib
from pathlib import Path

from cachediag.errors import InputError
from cachediag.model import Json
from cachediag.rules.format.fitting import Misfit, fit
from cachediag.rules.format.lines import Lines, statements
from cachediag.rules.format.writing import write_rules
from cachediag.rules.rule import RuleSet

__all__ = ["parse_rules", "read_rules", "write_rules"]

_MOST_BYTES = 256_000
# Reading a key of many parts takes time by the square of their number.
_MOST_DOTS = 100
_NEW = "Make one from a session: cachediag rules new -o rules.toml"
_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)\Z")
_QUOTES = "Close the text with the quotes that it begins with, on the same line."
_ONCE = "A field stands once in each rule, and each rule begins with [[rule]]."
_MENDS = {
    "Unescaped": r"Single quotes keep backslashes as they are: pattern = '\Acch=[0-9a-f]{5}'.",
    "Invalid value": "Put texts between quotes; numbers, true and false stand without.",
    "Unterminated": _QUOTES,
    "Expected \"'": _QUOTES,
    r"Illegal character '\n'": _QUOTES,
    r"Found invalid character '\n'": _QUOTES,
    "Cannot overwrite": _ONCE,
    "Cannot declare": _ONCE,
}
_PLAIN_MEND = "Write a field a line as name = value, each rule under a line [[rule]]."


def read_rules(path: Path) -> RuleSet:
    """Read a rule file.

    Raises:
        InputError: it cannot be read, or is no rule file. Says the line, the rule and the mend.
    """
    where = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=where, remedy=_NEW) from None
    if data.startswith(b"SQLite format 3\0"):
        raise InputError(
            "a session, not a rule file",
            where=where,
            remedy="The session stands first: cachediag rules check SESSION rules.toml",
        )
    _check_size(len(data), where)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            "not a rule file: not text in UTF-8", where=f"{where}:{line}", remedy=_NEW
        ) from None
    return parse_rules(text, where)


def parse_rules(text: str, where: str) -> RuleSet:
    """Read the text of a rule file.

    Args:
        text: the whole of it.
        where: what to call it in errors, which add the line: `rules.toml:17`.

    Raises:
        InputError: it is no rule file. Says the line, the rule and the mend.
    """
    _check_size(len(text), where)
    text = text.replace("\r\n", "\n")
    data = _decoded(text, where)
    try:
        return fit(data)
    except Misfit as misfit:
        line = Lines(text).of(misfit.path)
        raise InputError(misfit.message, where=f"{where}:{line}", remedy=misfit.remedy) from None


def _check_size(size: int, where: str) -> None:
    if size > _MOST_BYTES:
        raise InputError(
            f"not a rule file: larger than {_MOST_BYTES // 1000} kB", where=where, remedy=_NEW
        )


def _decoded(text: str, where: str) -> dict[str, Json]:
    nul = text.find("\0")
    if nul >= 0:
        line = text.count("\n", 0, nul) + 1
        raise InputError(
            "not a rule file: no text, but binary", where=f"{where}:{line}", remedy=_NEW
        )
    for statement in statements(text):
        if statement.dots > _MOST_DOTS:
            raise InputError(
                "nested too deeply", where=f"{where}:{statement.line}", remedy=_PLAIN_MEND
            )
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _no_toml(str(error), text, where) from None
    except (ValueError, RecursionError) as error:
        # A number of thousands of digits is not told as an error of the language.
        what = "nested too deeply" if isinstance(error, RecursionError) else "a number too long"
        line = Lines(text).suspect
        raise InputError(what, where=f"{where}:{line}", remedy=_PLAIN_MEND) from None


def _no_toml(said: str, text: str, where: str) -> InputError:
    at = _POSITION.search(said)
    what = said[: at.start()] if at else said
    line = int(at[1]) if at and at[1] else Lines(text).suspect
    mend = next((mend for start, mend in _MENDS.items() if what.startswith(start)), _PLAIN_MEND)
    return InputError(
        f"not TOML: {what[:1].lower()}{what[1:]}", where=f"{where}:{line}", remedy=mend
    )
