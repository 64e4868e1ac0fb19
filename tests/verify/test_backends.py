import sys
import tempfile
from pathlib import Path

import pytest

from cachediag.backends.asking import get
from cachediag.backends.sandbox import Sandbox
from cachediag.errors import UpstreamError
from cachediag.verify import backends
from cachediag.verify.backends import Sandboxed, Served
from tests.fix.patch.sites import KNOWN, installed, sums

# Says which vllm_mlx it would import, and whether its cache is on.
SERVER = """
import http.server, importlib.util, json, pathlib, sys

found = importlib.util.find_spec("vllm_mlx")
package = pathlib.Path(found.origin).parent if found else None
patched = bool(package) and "cachediag" in (package / "engine" / "simple.py").read_text()
state = "on" if patched and sys.argv[2] == "on" else "off"

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        said = {
            "/health": {"package": str(package)},
            "/v1/models": {"data": [{"id": "tiny"}]},
            "/v1/cache/stats": {"cachediag_prefix_cache": {"state": state}},
        }[self.path]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(said).encode())

    def log_message(self, *_):
        pass

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


@pytest.fixture
def installation(tmp_path, monkeypatch):
    """A made-up vllm-mlx, which Python finds."""
    monkeypatch.setattr("cachediag.fix.patch.state.releases", lambda: KNOWN)
    site = tmp_path / "site"
    made = installed(site)
    (site / "vllm_mlx" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(site))
    return made


def served(installation, *, state="on"):
    return Served((sys.executable, "-c", SERVER, "{port}", state), installation)


def package_of(live) -> Path:
    answer = get(live.base_url, "/health")
    assert answer is not None
    return Path(answer.json["package"])


def test_a_command_runs_as_it_is(installation, temporary):
    place = served(installation)
    assert (place.name, place.kind, place.version) == ("vllm-mlx 1.0.0", "vllm-mlx", "1.0.0")
    assert (place.can_patch, place.is_kept) == (True, False)
    with place.opened(patched=False) as live:
        assert live.model == "tiny"
        assert package_of(live) == installation.package
        assert live.log is not None
        assert live.log.is_file()
    assert list(temporary.iterdir()) == []


def test_a_command_takes_its_patched_engine_from_a_copy(installation, temporary):
    before = sums(installation.package)
    with served(installation).opened(patched=True) as live:
        assert package_of(live).is_relative_to(temporary)
    assert sums(installation.package) == before
    assert list(temporary.iterdir()) == []


def test_a_command_that_does_not_take_the_copy_is_told(installation, temporary):
    with (
        pytest.raises(UpstreamError, match="it runs without the patch") as raised,
        served(installation, state="off").opened(patched=True),
    ):
        pass
    assert raised.value.where == sys.executable
    assert list(temporary.iterdir()) == []


def test_a_command_that_cannot_be_patched_has_the_name_of_its_program():
    place = Served(("/opt/bin/llama-server", "--port", "{port}"), None)
    assert (place.name, place.kind, place.version) == ("llama-server", None, None)
    assert (place.can_patch, place.is_kept) == (False, True)


HEADER = r"""    system_text = re.sub(r"x-anthropic-billing-header:[^\n]*\n?", "", system_text)
"""


@pytest.mark.parametrize(
    ("strips", "patched"), [(True, False), (True, True), (False, False), (False, True)]
)
def test_the_sandbox_runs_a_copy_where_it_is_to_be_other_than_released(
    installation, tmp_path, monkeypatch, strips, patched
):
    adapter = Path("vllm_mlx", "api", "anthropic_adapter.py")
    site = installation.package.parent
    (site / adapter).parent.mkdir()
    (site / adapter).write_text(HEADER)
    before = sums(site)
    given = []

    def running(sandbox, engine, release, *, site_dir):
        given.append(site_dir)
        if site_dir is not None:
            engine_file = site_dir / "vllm_mlx" / "engine" / "simple.py"
            given.append("cachediag" in engine_file.read_text())
            given.append("(?!)" in (site_dir / adapter).read_text())
        raise UpstreamError("stop here")

    monkeypatch.setattr(backends, "running", running)
    monkeypatch.setattr("cachediag.backends.sandbox.install.site", lambda *_: site)
    place = Sandboxed(Sandbox(tmp_path / "sandbox"), "vllm-mlx", "1.0.0", strips)
    own = "" if strips else ", keeping the billing header"
    assert place.name == f"vllm-mlx 1.0.0 (sandbox{own})"
    assert (place.kind, place.can_patch) == ("vllm-mlx", True)
    with pytest.raises(UpstreamError, match="stop here"), place.opened(patched=patched):
        pass
    if strips and not patched:
        assert given == [None]
    else:
        assert given[1:] == [patched, not strips]
        assert not given[0].exists()
    assert sums(site) == before
