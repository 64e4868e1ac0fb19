from pathlib import Path

import pytest

from cachediag.capture.importers import open_source
from cachediag.errors import InputError

ONE = b'{"max_tokens":1, "messages":[{"role":"user","content":"one"}]}'
TWO = b'{"max_tokens":1,"messages":[{"role":"user","content":"two \xc3\xa9"}] }'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "talk.jsonl"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_each_line_is_a_body_or_holds_one(path: Path, end: bytes) -> None:
    lines = [b"\xef\xbb\xbf" + ONE, b"", b'{"id":1,"request":' + TWO + b"}", b"   ", ONE]
    path.write_bytes(end.join(lines))
    source = open_source(path)
    assert [e.request for e in source.exchanges()] == [ONE, TWO, ONE]
    assert [info.index for info in source.infos()] == [0, 1, 2]
    assert list(source.notes) == []


def test_lines_without_a_body_are_left_out_and_told(path: Path) -> None:
    path.write_bytes(b'{"event":"start"}\n' + ONE + b'\n{"event":"end"}\n[1]\n7\n')
    source = open_source(path)
    assert [e.request for e in source.exchanges()] == [ONE]
    assert list(source.notes) == ["4 of 5 lines hold no request body"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"notes", "not JSON: Expecting value (line 4, column 1)"),
        (ONE[:-4], f"JSON ends too early (line 4, column {len(ONE) - 3})"),
        (
            b'{"body":"{\\"messages\\":["}',
            "line 4: the body inside the record: JSON ends too early",
        ),
    ],
)
def test_a_bad_line_is_named(path: Path, line: bytes, message: str) -> None:
    path.write_bytes(ONE + b"\n\n" + TWO + b"\n" + line + b"\n")
    with pytest.raises(InputError) as caught:
        open_source(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_line_without_end_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cachediag.capture.importers.jsonl._MAX_LINE", 1000)
    path.write_bytes(ONE + b"\n" + TWO + b"\n" + b'{"a":"' + b"x" * 2000)
    with pytest.raises(InputError) as caught:
        open_source(path)
    assert str(caught.value).startswith(f"{path}: line 3 is too long")
