import platform

from cachediag.backends.sandbox import Engine, Sandbox, State, state
from cachediag.backends.sandbox.install import environment, release_place
from cachediag.backends.sandbox.model import model_place


def test_an_empty_sandbox_is_left_empty(tmp_path):
    sandbox = Sandbox(tmp_path / "root")
    nothing: dict[Engine, tuple[str, ...]] = {"vllm-mlx": (), "mlx-lm": ()}
    assert state(sandbox) == State(sandbox.root, True, False, nothing, ())
    assert not sandbox.root.exists()


def test_what_is_in_its_place(tmp_path):
    sandbox = Sandbox(tmp_path)
    for place in (
        environment(sandbox),
        release_place(sandbox, "vllm-mlx", "0.3.0"),
        model_place(sandbox, "mamba2"),
    ):
        place.mkdir(parents=True)
    found = state(sandbox)
    assert found.environment
    assert found.releases == {"vllm-mlx": ("0.3.0",), "mlx-lm": ()}
    assert found.models == ("mamba2",)


def test_a_machine_that_mlx_does_not_run_on(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    assert state(Sandbox(tmp_path)) == State(tmp_path, False, False, {}, ())
