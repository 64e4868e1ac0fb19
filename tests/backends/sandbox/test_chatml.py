"""The sandbox's template prints what the renderer of Qwen2.5 does, on requests of every kind."""

from importlib import resources

import pytest

from cachediag.protocol import Parser
from cachediag.protocol.endpoint import endpoint_of
from cachediag.render import profile, template
from cachediag.render.templates.directory import from_directory
from cachediag.render.templates.jinja import Jinja
from cachediag.render.templates.qwen import Qwen25
from tests.live.rendering_bodies import hard_bodies

SOURCE = (resources.files("cachediag.backends.sandbox") / "chatml.jinja").read_text("utf-8")


@pytest.mark.parametrize(
    "spec", ["mlx-lm", "vllm-mlx@0.3.0", "vllm-mlx@0.6.0", "vllm-mlx@0.6.0:tools=native"]
)
def test_it_prints_what_qwen25_prints(spec):
    through_jinja = profile(spec, Jinja("own", {"default": SOURCE, "tool_use": SOURCE}, {}))
    known, parser = profile(spec, template("qwen2.5")), Parser()
    with_tools = 0
    for path, body in hard_bodies(120):
        prompt = parser.parse(body, endpoint_of(path))
        expected = known.render(prompt).text
        assert through_jinja.render(prompt).text == expected
        with_tools += "<tools>" in expected
    assert with_tools > 20


def test_a_directory_that_has_it_is_rendered_as_qwen25(tmp_path):
    (tmp_path / "chat_template.jinja").write_text(SOURCE, encoding="utf-8")
    assert isinstance(from_directory(tmp_path), Qwen25)
