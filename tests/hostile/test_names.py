"""Names and places that lead elsewhere, or hold what no name should."""

import os

import pytest

from cachediag.batch.folders import look_through
from cachediag.batch.naming import find
from cachediag.batch.writing import RowFile
from cachediag.capture.importers import open_source
from cachediag.errors import CachediagError, UsageError
from tests.hostile.refused import refusal

BODY = b'{"model":"m","messages":[{"role":"user","content":"x"}]}'


def bodies(source):
    return [exchange.request for exchange in source.exchanges()]


@pytest.fixture
def folder(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.json").write_bytes(BODY.replace(b'"x"', b'"private"'))
    given = tmp_path / "given"
    given.mkdir()
    (given / "1.json").write_bytes(BODY)
    (given / "2.json").symlink_to("1.json")
    (given / "3.json").symlink_to(outside / "private.json")
    (given / "4.json").symlink_to("../outside/private.json")
    (given / "5.json").symlink_to("nowhere")
    (given / "6.json").symlink_to("6.json")
    (given / "inner").symlink_to(outside)
    return given


def test_links_out_of_a_folder_are_not_followed(folder):
    source = open_source(folder)
    assert bodies(source) == [BODY, BODY]
    assert source.notes == ("2 links in given lead out of it and are not followed",)


def test_nor_where_sessions_are_looked_for(folder):
    (folder / "5.jsonl").symlink_to(folder.parent / "outside" / "private.json")
    held = look_through(folder)
    assert (held.sessions, held.passed_over) == ((folder,), 0)


def test_pipes_and_folders_in_a_folder_are_left_alone(tmp_path):
    (tmp_path / "1.json").write_bytes(BODY)
    os.mkfifo(tmp_path / "2.json")
    (tmp_path / "3.json").mkdir()
    assert bodies(open_source(tmp_path)) == [BODY]
    assert look_through(tmp_path).sessions == (tmp_path,)


@pytest.mark.parametrize("name", ["a\nb.json", "\x1b[2J.json", "*.json", "[a].json", "é\udcff"])
def test_any_name_of_a_file_is_taken_as_it_is(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(BODY)
    assert bodies(open_source(path)) == [BODY]
    assert [each.address for each in find([str(path)]).sessions] == [str(path)]


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "/proc/self/mem", "/"])
def test_what_is_no_file_of_anyone_is_refused(name):
    error = refusal(lambda: open_source(name))
    assert isinstance(error, CachediagError)
    assert str(error).startswith(f"{name}: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_rights_is_said(tmp_path):
    path = tmp_path / "body.json"
    path.write_bytes(BODY)
    path.chmod(0)
    assert "Permission denied" in str(refusal(lambda: open_source(path)))


def test_rows_are_not_written_through_a_link(tmp_path):
    pytest.importorskip("pyarrow")
    kept = tmp_path / "kept"
    kept.write_bytes(b"mine")
    for target in (kept, tmp_path / "nowhere"):
        link = tmp_path / f"to-{target.name}.parquet"
        link.symlink_to(target)
        try:
            with RowFile(link):
                pass
        except UsageError as error:
            assert error.message == "is there already"  # noqa: PT017
    assert kept.read_bytes() == b"mine"
    assert not (tmp_path / "nowhere").exists()
