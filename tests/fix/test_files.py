import os

import pytest

from cachediag.fix.files import replace_file


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
