import re

import pytest

from cachediag.backends.sandbox import keep_billing_header
from cachediag.errors import InputError
from tests.backends.answers import there

ADAPTER = """\
    # Strip per-request billing headers: x-anthropic-billing-header: a comment.
    system_text = re.sub(r"x-anthropic-billing-header:[^\\n]*\\n?", "", system_text)
"""
CANONICAL = """\
_STRIPPERS = ((
        "anthropic_billing_header",
        re.compile(r"(?im)^x-anthropic-billing-header:[^\\n]*(?:\\n|$)"),
        "",
),)
"""


@pytest.fixture
def site(tmp_path):
    api = tmp_path / "vllm_mlx" / "api"
    api.mkdir(parents=True)
    (api / "anthropic_adapter.py").write_text(ADAPTER)
    (api / "prompt_canonicalize.py").write_text(CANONICAL)
    return tmp_path


def contents(site):
    return {path.name: path.read_bytes() for path in site.rglob("*.py")}


def test_the_header_is_kept_and_a_linked_original_stays(site):
    original = site / "vllm_mlx" / "api" / "anthropic_adapter.py"
    linked = site / "linked"
    linked.hardlink_to(original)
    assert keep_billing_header(site) == 2
    changed = contents(site)
    assert b'r"(?!)x-anthropic-billing-header:' in changed["anthropic_adapter.py"]
    assert b'r"(?im)(?!)^x-anthropic-billing-header:' in changed["prompt_canonicalize.py"]
    assert linked.read_text() == ADAPTER
    for text in changed.values():
        compile(text.replace(b"    ", b""), "changed", "exec")
    assert keep_billing_header(site) == 0
    assert contents(site) == changed


def test_the_changed_patterns_never_match(site):
    keep_billing_header(site)
    for text in contents(site).values():
        pattern = there(re.search(rb'r"(.*?)"', text))[1].decode()
        assert not re.search(pattern, "x-anthropic-billing-header: a\nb")


def test_a_release_that_never_removed_it(site):
    (site / "vllm_mlx" / "api" / "anthropic_adapter.py").write_text("pass\n")
    (site / "vllm_mlx" / "api" / "prompt_canonicalize.py").unlink()
    assert keep_billing_header(site) == 0


def test_what_is_not_known_is_refused(site, tmp_path):
    (site / "vllm_mlx" / "other.py").write_text('x.replace("x-anthropic-billing-header: a", "")\n')
    with pytest.raises(InputError, match="in a way that is not known"):
        keep_billing_header(site)
    with pytest.raises(InputError, match="holds no vllm-mlx"):
        keep_billing_header(tmp_path / "vllm_mlx")
