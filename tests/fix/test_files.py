import os

import pytest

from cachediag.errors import UsageError
from cachediag.fix.files import replace_file, write_private


def test_a_file_is_replaced_and_what_shares_it_is_not(tmp_path):
    path, linked = tmp_path / "file", tmp_path / "linked"
    path.write_bytes(b"old")
    os.link(path, linked)
    replace_file(path, b"new", 0o640)
    assert (path.read_bytes(), linked.read_bytes()) == (b"new", b"old")
    assert path.stat().st_mode & 0o777 == 0o640


def test_of_an_attempt_that_fails_nothing_is_left(tmp_path):
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / "inside").touch()
    with pytest.raises(IsADirectoryError):
        replace_file(tmp_path / "file", b"new", 0o600)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_private_file_is_its_owners_alone(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"old")
    path.chmod(0o644)
    write_private(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_written_is_told_with_its_name(tmp_path):
    path = tmp_path / "gone" / "trace.jsonl"
    with pytest.raises(UsageError) as raised:
        write_private(path, b"new")
    assert (raised.value.where, raised.value.message) == (
        str(path),
        "cannot be written (No such file or directory)",
    )
