"""`cachediag fix patch` and `unpatch`, on the command line."""

import json
from hashlib import sha256

import pytest

from tests.cli.running import ran
from tests.fix.patch.sites import ENGINE, KNOWN, NEWER, installed, sums
from tests.fix.patch.test_running import answering


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr("cachediag.fix.patch.state.releases", lambda: KNOWN)


def test_patched_and_taken_out(capsys, tmp_path):
    installed(tmp_path)
    before = sums(tmp_path)
    done = ran(capsys, "fix", "patch", "--site", tmp_path, "--slots", "2", "--max-memory", "1.5")
    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[:3] == [
        f"vllm-mlx 1.0.0   {tmp_path}/vllm_mlx/engine/simple.py",
        "  2 slots, scope conversation, at most 1.5 GB",
        "  add     engine/simple.py.cachediag-original",
    ]
    assert "  change  engine/simple.py" in lines
    assert "- Nothing is kept." in lines
    assert lines[-1] == "       cachediag fix status --backend http://127.0.0.1:8000"
    done = ran(capsys, "fix", "patch", "--site", tmp_path, "--slots", "2", "--max-memory", "1.5")
    assert "  nothing to do: it is patched" in done.out
    done = ran(capsys, "fix", "unpatch", "--site", tmp_path)
    assert "  the patch is taken out, and every file as it was" in done.out
    assert done.out.splitlines()[-1] == "next   start the server again"
    assert sums(tmp_path) == before
    assert (
        "nothing to do: it is not patched" in ran(capsys, "fix", "unpatch", "--site", tmp_path).out
    )


def test_a_dry_run_is_a_diff(capsys, tmp_path):
    engine = installed(tmp_path, NEWER, "2.0.0").engine
    before = sums(tmp_path)
    done = ran(capsys, "fix", "patch", "--site", tmp_path, "--scope", "system", "--dry-run")
    assert f"--- {engine}\n+++ {engine}\n@@ -5,3 +5,15 @@\n" in done.out
    assert '+        SimpleEngine, slots=4, scope="system", max_bytes=None\n' in done.out
    assert f"+++ {engine.parent}/cachediag_prefix_cache/store.py\n" in done.out
    assert "With a cache of its own.\n+\n" in done.out
    assert done.out.rstrip().endswith("nothing was written")
    assert sums(tmp_path) == before


def test_the_document(capsys, tmp_path):
    installation = installed(tmp_path)
    words = ("fix", "patch", "--site", tmp_path, "--dry-run", "--format", "json")
    made = json.loads(ran(capsys, *words).out)
    assert (made["schema"], made["dry_run"]) == ("cachediag.fix-patch/1", True)
    assert made["before"] == {
        "engine": str(installation.engine),
        "sha256": KNOWN[0].sha256,
        "version": "1.0.0",
        "release": "1.0.0",
        "state": "nothing",
        "faults": ["Nothing is kept."],
        "options": None,
    }
    assert made["options"] == {"slots": 4, "scope": "conversation", "max_bytes": None}
    backup, *payload, engine = made["files"]
    assert (backup["action"], backup["sha256_before"], backup["diff"]) == ("add", None, None)
    assert backup["sha256_after"] == engine["sha256_before"] == KNOWN[0].sha256
    assert {each["action"] for each in payload} == {"add"}
    assert engine["diff"].startswith("--- ")
    assert installation.engine.read_bytes() == ENGINE


def test_what_is_not_known_is_refused(capsys, tmp_path):
    installed(tmp_path, b"pass\n", "9.9")
    done = ran(capsys, "fix", "patch", "--site", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "vllm-mlx 9.9 is of no release that the patch is known to fit (sha256 " in done.err


def test_without_a_name_it_is_asked_for(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = ran(capsys, "fix", "patch")
    assert done.code == 2
    assert "--python VENV/bin/python" in done.err


def test_what_is_in_place(capsys, home, tmp_path):
    site = tmp_path / "site"
    installation = installed(site, NEWER, "2.0.0")
    status = ("fix", "status", "--site", site)
    assert ran(capsys, *status).out.splitlines()[:5] == [
        "vllm-mlx 2.0.0   ~/site/vllm_mlx/engine/simple.py",
        "  as released, upstream's own prefix cache",
        "- Only a little is kept.",
        "next   cachediag fix patch",
        "",
    ]
    ran(capsys, "fix", "patch", "--site", site)
    assert ran(capsys, *status).out.splitlines()[1:4] == [
        "  patched by cachediag",
        "  4 slots, scope conversation, at most a quarter of the memory",
        "",
    ]
    installation.engine.write_bytes(NEWER)
    lines = ran(capsys, *status).out.splitlines()
    assert lines[1].startswith("  the patch was lost to a reinstall")
    installation.engine.write_bytes(b"#")
    lines = ran(capsys, *status).out.splitlines()
    assert lines[1:3] == [
        "  changed by somebody else",
        f"  sha256 {sha256(b'#').hexdigest()}",
    ]


def test_a_running_server_is_asked(capsys, home):
    counters = {"hits": 2, "misses": 1, "reused_tokens": 12000}
    stats = {"state": "off", "reason": "it \x1b failed", "counters": counters}
    with answering(200, {"cachediag_prefix_cache": stats}) as url:
        lines = ran(capsys, "fix", "status", "--backend", url).out.splitlines()
    assert lines[0] == f"{url}   the prefix cache is there, and off"
    assert "\x1b" not in lines[1]
    assert (
        lines[2] == "  hits 2, partial hits 0, misses 1, reused tokens 12,000, prefilled tokens 0"
    )
    with answering(200, {}) as url:
        lines = ran(capsys, "fix", "status", "--backend", url).out.splitlines()
    assert lines[:2] == [f"{url}   the server has no prefix cache of cachediag", ""]
