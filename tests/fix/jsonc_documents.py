"""Made-up settings files as people write them: comments, trailing commas, any white space."""

import json
from typing import Any

from hypothesis import strategies as st

NAME = "CLAUDE_CODE_ATTRIBUTION_HEADER"

GAPS = st.lists(
    st.sampled_from(
        [
            *("", " ", "  ", "\t", "\n", "\n  ", "\r\n", "\r\n\t"),
            *("/* why */", "/**/", '/* "}, { */', "/*\n * more\n */", "/* ]// */"),
            *("// so\n", '// "env": {\n', "// é, /* \r\n", "//\n"),
        ]
    ),
    max_size=3,
).map("".join)
STRINGS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["//", "/* */", "a, }", '"', "\\", "é\U0001f600", "{", NAME]),
)
KEYS = st.one_of(STRINGS, st.sampled_from(["env", "model", "hooks"]))
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 999), st.just("1.50"), st.just("-2e3"), STRINGS
)


@st.composite
def _written(draw: st.DrawFn, value: Any) -> str:
    if isinstance(value, str) and value in ("1.50", "-2e3") and draw(st.booleans()):
        return value
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


def _trailing() -> st.SearchStrategy[str]:
    return st.one_of(st.just(""), GAPS.map(",{}".format))


@st.composite
def _array(draw: st.DrawFn, depth: int) -> str:
    items = [draw(GAPS) + draw(_value(depth)) + draw(GAPS) for _ in range(draw(st.integers(0, 2)))]
    end = draw(_trailing()) if items else ""
    return f"[{','.join(items) or draw(GAPS)}{end}]"


@st.composite
def _members(draw: st.DrawFn, members: list[tuple[str, str]]) -> str:
    told = [
        draw(GAPS) + json.dumps(key) + draw(GAPS) + ":" + draw(GAPS) + value + draw(GAPS)
        for key, value in members
    ]
    end = draw(_trailing()) if told else ""
    return "{" + (",".join(told) or draw(GAPS)) + end + "}"


@st.composite
def _value(draw: st.DrawFn, depth: int) -> str:
    kind = draw(st.sampled_from(["scalar", "array", "object"] if depth else ["scalar"]))
    if kind == "scalar":
        return draw(_written(draw(SCALARS)))
    if kind == "array":
        return draw(_array(depth - 1))
    keys = draw(st.lists(KEYS, max_size=2))
    return draw(_members([(key, draw(_value(depth - 1))) for key in keys]))


@st.composite
def documents(draw: st.DrawFn, own: bool | None = None) -> bytes:
    """A settings file whose `env`, where it has one, is an object.

    Args:
        draw: hypothesis's.
        own: whether the variable `NAME` is set in it; by default it may be.
    """
    keys = draw(st.lists(STRINGS.filter(lambda key: key != "env"), max_size=3))
    members = [(key, draw(_value(2))) for key in keys]
    for _ in range(1 if own else draw(st.integers(0, 2 if own is None else 1))):
        names = draw(st.lists(STRINGS.filter(lambda key: key != NAME), max_size=2))
        if own or (own is None and draw(st.booleans())):
            names.insert(draw(st.integers(0, len(names))), NAME)
        values = [(name, draw(_written(draw(SCALARS)))) for name in names]
        members.insert(draw(st.integers(0, len(members))), ("env", draw(_members(values))))
    text = draw(GAPS) + draw(_members(members)) + draw(GAPS)
    mark = b"\xef\xbb\xbf" if draw(st.booleans()) else b""
    return mark + text.encode("utf-8", "surrogatepass")
