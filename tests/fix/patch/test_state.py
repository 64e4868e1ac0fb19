"""What an installation is taken for."""

import shutil

import pytest

from cachediag.errors import InputError
from cachediag.fix.patch import Options, apply, plan_patch, plan_unpatch, releases, state_of
from tests.fix.patch.sites import ENGINE, KNOWN, NEWER, installed


def kind(installation):
    return state_of(installation, KNOWN).kind


def patch(installation, options=None):
    apply(plan_patch(state_of(installation, KNOWN), options or Options()))


@pytest.mark.parametrize(
    ("content", "version", "expected"),
    [
        (ENGINE, "1.0.0", "nothing"),
        (ENGINE, None, "nothing"),
        (NEWER, "2.0.0", "upstream"),
        (ENGINE + b"#", "1.0.0", "foreign"),
        (ENGINE + b"#", "3.0.0", "unknown"),
        (ENGINE + b"#", None, "unknown"),
    ],
)
def test_before_it_is_patched(tmp_path, content, version, expected):
    assert kind(installed(tmp_path, content, version)) == expected


def test_ours(tmp_path):
    installation = installed(tmp_path)
    patch(installation, Options(7, "system", 5))
    state = state_of(installation, KNOWN)
    assert (state.kind, state.options, state.faults) == ("ours", Options(7, "system", 5), ())
    assert state.release is KNOWN[0]


def test_lost_to_a_reinstall(tmp_path):
    installation = installed(tmp_path)
    patch(installation)
    installation.engine.write_bytes(NEWER)
    state = state_of(installation, KNOWN)
    assert (state.kind, state.release, state.faults) == ("lost", KNOWN[1], KNOWN[1].faults)
    patch(installation)
    assert kind(installation) == "ours"
    assert installation.backup.read_bytes() == NEWER


def test_lost_can_be_cleared_away(tmp_path):
    installation = installed(tmp_path)
    patch(installation)
    installation.engine.write_bytes(NEWER)
    apply(plan_unpatch(state_of(installation, KNOWN)))
    assert kind(installation) == "upstream"
    assert not installation.backup.exists()


def test_outdated_where_files_are_missing(tmp_path):
    installation = installed(tmp_path)
    patch(installation)
    shutil.rmtree(installation.payload)
    assert kind(installation) == "outdated"


def test_changed_around_our_block(tmp_path):
    installation = installed(tmp_path)
    patch(installation)
    installation.engine.write_bytes(b"# mine\n" + installation.engine.read_bytes())
    state = state_of(installation, KNOWN)
    assert state.kind == "foreign"
    for plan in (lambda: plan_patch(state, Options()), lambda: plan_unpatch(state)):
        with pytest.raises(InputError, match="changed by somebody else") as caught:
            plan()
        assert state.sha256 in str(caught.value)
        assert caught.value.where == str(installation.engine)
        assert "--force-reinstall --no-deps vllm-mlx==1.0.0" in str(caught.value.remedy)


def test_text_behind_our_block_is_somebody_elses(tmp_path):
    installation = installed(tmp_path)
    patch(installation)
    installation.engine.write_bytes(installation.engine.read_bytes() + b"# mine\n")
    assert kind(installation) == "foreign"


def test_an_unknown_release_is_refused(tmp_path):
    state = state_of(installed(tmp_path, b"pass\n", "9.9"), KNOWN)
    with pytest.raises(InputError, match=r"vllm-mlx 9\.9 is of no release") as caught:
        plan_patch(state, Options())
    assert state.sha256 in str(caught.value)
    assert "0.6.0" in str(caught.value.remedy)
    assert plan_unpatch(state).changes == ()


def test_the_table_of_releases():
    told = {release.version: (release.sha256[:12], release.own) for release in releases()}
    assert told == {
        "0.2.6": ("ec2d864f108c", "none"),
        "0.2.8": ("e2db067f325e", "none"),
        "0.2.9": ("dfc86fa967f6", "none"),
        "0.3.0": ("4de98fead300", "none"),
        "0.4.0": ("719a33826c94", "system"),
        "0.4.1": ("868fe963084b", "system"),
        "0.5.0": ("c36d17a0da10", "system"),
        "0.6.0": ("8d0786c8cd33", "system"),
    }
    assert all(len(release.sha256) == 64 and release.faults for release in releases())
