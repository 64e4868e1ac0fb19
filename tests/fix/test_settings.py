import json
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cachediag.errors import InputError
from cachediag.fix.jsonc import decoded, with_member
from cachediag.fix.settings import Changed, Undone, Written, read, undo, write
from tests.fix.jsonc_documents import NAME, documents

OFF = {NAME: "0"}
COMMENTED = b"""{
  // what everybody uses
  "model": "made-up",
  "env": {
    "LC_ALL": "C", /* for sorting */
  },
}
"""


def beside(path):
    return sorted(each.name for each in path.parent.iterdir() if each != path)


def undone(path: Path) -> Undone:
    """What taking back came to, where there was something to take back."""
    done = undo(path)
    assert done is not None
    return done


def copy_of(done: Written) -> Path:
    assert done.backup is not None
    return done.backup


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(COMMENTED)
    return path


def test_a_variable_is_set_and_all_else_is_kept(file):
    written = write(file, OFF)
    line = b'    "LC_ALL": "C", /* for sorting */\n'
    put = b'    "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",\n'
    assert file.read_bytes() == COMMENTED.replace(line, line + put)
    assert written.changes == (Changed(NAME, None, "0"),)
    assert written.is_plain is False
    assert written.backup == file.with_name("settings.json.cachediag-backup")
    assert copy_of(written).read_bytes() == COMMENTED


def test_a_second_time_changes_nothing(file):
    write(file, OFF)
    stood, times = file.read_bytes(), [each.stat().st_mtime_ns for each in file.parent.iterdir()]
    again = write(file, OFF)
    assert again.changes == ()
    assert file.read_bytes() == stood
    assert [each.stat().st_mtime_ns for each in file.parent.iterdir()] == times


def test_what_will_do_as_well_is_left_as_it_is(file):
    file.write_bytes(b'{"env": {"%s": false}}' % NAME.encode())
    asked = []

    def is_set(name, value):
        asked.append((name, value))
        return True

    assert write(file, OFF, is_set).changes == ()
    assert asked == [(NAME, "false")]
    assert undo(file) is None


def test_a_new_file_is_private_and_goes_again(tmp_path):
    path = tmp_path / "home" / ".claude" / "settings.json"
    written = write(path, OFF)
    assert json.loads(path.read_bytes()) == {"env": OFF}
    assert (mode(path), written.backup) == (0o600, None)
    assert mode(path.with_name("settings.json.cachediag-undo")) == 0o600
    done = undone(path)
    assert done.is_exact
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("before", [b"", b" \n"])
def test_an_empty_file_is_one_without_settings(file, before):
    file.write_bytes(before)
    write(file, OFF)
    assert json.loads(file.read_bytes()) == {"env": OFF}
    assert undone(file).is_exact
    assert file.read_bytes() == before


def test_the_mode_is_kept_of_file_and_backup(file):
    file.chmod(0o640)
    backup = copy_of(write(file, OFF))
    assert (mode(file), mode(backup)) == (0o640, 0o640)
    undo(file)
    assert mode(file) == 0o640


def test_undo_gives_back_what_was_there(file):
    write(file, OFF)
    done = undone(file)
    assert (done.is_exact, done.kept) == (True, ())
    assert done.changes == (Changed(NAME, "0", None),)
    assert file.read_bytes() == COMMENTED
    assert beside(file) == []
    assert undo(file) is None


def test_a_value_of_the_users_own_comes_back(file):
    before = b'{"env": {"%s": "1"}, "model": "a"}' % NAME.encode()
    file.write_bytes(before)
    assert write(file, OFF).changes == (Changed(NAME, "1", "0"),)
    file.write_bytes(file.read_bytes().replace(b'"a"', b'"b"'))
    done = undone(file)
    assert (done.is_exact, done.changes) == (False, (Changed(NAME, "0", "1"),))
    assert file.read_bytes() == before.replace(b'"a"', b'"b"')


def test_what_others_changed_meanwhile_stays(file):
    write(file, OFF)
    file.write_bytes(file.read_bytes().replace(b'"made-up"', b'"another"'))
    done = undone(file)
    assert not done.is_exact
    assert file.read_bytes() == COMMENTED.replace(b'"made-up"', b'"another"')
    assert beside(file) == []


def test_an_object_that_was_made_for_it_goes_too(file):
    file.write_bytes(b'{\n  "model": "a"\n}\n')
    write(file, OFF)
    file.write_bytes(file.read_bytes().replace(b'"a"', b'"b"'))
    undo(file)
    assert file.read_bytes() == b'{\n  "model": "b"\n}\n'


def test_a_variable_that_was_changed_since_is_left_alone(file):
    write(file, {**OFF, "B": "1"})
    file.write_bytes(file.read_bytes().replace(b'"0"', b'"1"'))
    done = undone(file)
    assert (done.kept, done.changes) == ((NAME,), (Changed("B", "1", None),))
    assert decoded(file.read_bytes())["env"] == {"LC_ALL": "C", NAME: "1"}


def test_a_second_switch_keeps_the_first_copy(file):
    write(file, OFF)
    write(file, {**OFF, "B": "1"})
    assert undone(file).is_exact
    assert file.read_bytes() == COMMENTED


def test_a_second_switch_after_a_change_keeps_the_change(file):
    write(file, OFF)
    changed = file.read_bytes().replace(b'"made-up"', b'"another"')
    file.write_bytes(changed)
    backup = copy_of(write(file, {"B": "1"}))
    assert backup.read_bytes() == COMMENTED.replace(b'"made-up"', b'"another"')
    assert undone(file).is_exact
    assert file.read_bytes() == COMMENTED.replace(b'"made-up"', b'"another"')


def test_without_the_copy_the_variables_still_go(file):
    copy_of(write(file, OFF)).unlink()
    assert not undone(file).is_exact
    assert file.read_bytes() == COMMENTED


def test_a_link_is_written_through(file, tmp_path):
    link = tmp_path / "home" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(file)
    write(link, OFF)
    assert link.is_symlink()
    assert decoded(file.read_bytes())["env"][NAME] == "0"
    assert beside(file) == []
    assert beside(link) == ["settings.json.cachediag-backup", "settings.json.cachediag-undo"]
    assert undone(link).is_exact
    assert (link.is_symlink(), file.read_bytes()) == (True, COMMENTED)


def test_a_link_to_nothing_leads_to_nothing_again(tmp_path):
    link = tmp_path / "settings.json"
    link.symlink_to(tmp_path / "dotfiles.json")
    write(link, OFF)
    undo(link)
    assert (link.is_symlink(), link.exists()) == (True, False)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"env": {', "JSON ends too early"),
        (b"[1]", "not a JSON object"),
        (b'{"env": "X=1"}', "'env' is not an object"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_what_is_broken_is_told_and_not_touched(file, raw, message):
    file.write_bytes(raw)
    with pytest.raises(InputError) as caught:
        write(file, OFF)
    assert message in caught.value.message
    assert (caught.value.where, caught.value.remedy) == (
        str(file),
        "Mend the file; nothing was changed.",
    )
    assert (file.read_bytes(), beside(file)) == (raw, [])
    assert message in str(read(file).problem)


def test_a_directory_is_no_settings_file(tmp_path):
    with pytest.raises(InputError) as caught:
        write(tmp_path, OFF)
    assert "cannot be read" in caught.value.message


def test_a_file_that_is_gone_is_not_made_anew(file):
    write(file, OFF)
    file.unlink()
    with pytest.raises(InputError) as caught:
        undo(file)
    assert caught.value.message == "the settings file is no longer there"
    assert "settings.json.cachediag-backup" in str(caught.value.remedy)
    assert write(file, OFF).backup is None
    assert undone(file).is_exact
    assert not file.exists()


def test_an_account_that_is_damaged_is_told(file):
    write(file, OFF)
    file.with_name("settings.json.cachediag-undo").write_text('{"variables": 1}')
    with pytest.raises(InputError) as caught:
        undo(file)
    assert caught.value.where == str(file.with_name("settings.json.cachediag-undo"))


def test_reading(file, tmp_path):
    found = read(file)
    assert (found.exists, found.values, found.is_plain) == (True, {"LC_ALL": "C"}, False)
    assert (found.problem, found.can_undo) == (None, False)
    write(file, OFF)
    assert read(file).can_undo
    assert read(tmp_path / "none.json").exists is False
    file.write_bytes(b'{"env": {"A": 1, "B": false, "C": "x"}}')
    assert read(file).values == {"A": "1", "B": "false", "C": "x"}


KEEP = settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)


@KEEP
@given(documents())
def test_written_and_undone_is_as_if_nothing_had_been(tmp_path, raw):
    path = tmp_path / "settings.json"
    path.write_bytes(raw)
    write(path, OFF)
    assert decoded(path.read_bytes())["env"][NAME] == "0"
    assert write(path, OFF).changes == ()
    undo(path)
    assert path.read_bytes() == raw
    assert [each.name for each in tmp_path.iterdir()] == ["settings.json"]


@KEEP
@given(documents(), st.sampled_from([("model",), ("env", "OTHER")]))
def test_undone_after_a_change_only_the_change_is_left(tmp_path, raw, changed):
    path = tmp_path / "settings.json"
    path.write_bytes(raw)
    write(path, OFF)
    path.write_bytes(with_member(path.read_bytes(), changed[:-1], changed[-1], "new"))
    undo(path)
    expected = decoded(raw)
    place = expected.setdefault("env", {}) if len(changed) == 2 else expected
    place[changed[-1]] = "new"
    assert decoded(path.read_bytes()) == expected
