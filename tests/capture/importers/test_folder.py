from pathlib import Path

import pytest

from cachediag.capture.importers import open_source
from cachediag.errors import InputError


def body(text: str) -> bytes:
    return b'{"max_tokens":1,"messages":[{"role":"user","content":"%s"}]}' % text.encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "bodies.d"
    made.mkdir()
    return made


def test_bodies_come_in_natural_order(folder: Path) -> None:
    for name in ("10.json", "9.json", "1.json", "a2b10.txt", "a2b9", "a10"):
        (folder / name).write_bytes(body(name))
    source = open_source(folder)
    assert source.name == "bodies.d"
    assert [e.request for e in source.exchanges()] == [
        body(name) for name in ("1.json", "9.json", "10.json", "a2b9", "a2b10.txt", "a10")
    ]
    assert list(source.notes) == []


def test_other_files_are_left_out_and_told(folder: Path) -> None:
    (folder / "1.json").write_bytes(body("one"))
    (folder / "2.json").write_bytes(b'{"body":' + body("two") + b"}")
    (folder / "1.response.json").write_bytes(b'{"type":"message","content":[]}')
    (folder / "notes.txt").write_bytes(b"notes")
    (folder / "style.css").write_bytes(b"{ color: red }")
    (folder / "empty").touch()
    (folder / ".hidden").write_bytes(body("hidden"))
    (folder / "deeper").mkdir()
    (folder / "deeper" / "3.json").write_bytes(body("deeper"))
    source = open_source(folder)
    assert [e.request for e in source.exchanges()] == [body("one"), body("two")]
    assert list(source.notes) == ["4 files in bodies.d hold no request body"]


def test_a_damaged_body_is_named(folder: Path) -> None:
    (folder / "1.json").write_bytes(body("one"))
    (folder / "2.json").write_bytes(body("two")[:-5])
    with pytest.raises(InputError) as caught:
        open_source(folder)
    assert str(caught.value).startswith(f"{folder / '2.json'}: JSON ends too early (line 1")


def test_a_folder_without_bodies_is_refused(folder: Path) -> None:
    (folder / "notes.txt").write_bytes(b"notes")
    with pytest.raises(InputError) as caught:
        open_source(folder)
    assert str(caught.value) == f"{folder}: the folder holds no request bodies"
    assert caught.value.remedy == "Give a folder of JSON bodies, one a file"


def test_huge_unrelated_files_are_not_read(folder: Path) -> None:
    (folder / "1.json").write_bytes(body("one"))
    with (folder / "image").open("wb") as file:
        file.truncate(1 << 40)
    assert len(list(open_source(folder).exchanges())) == 1
