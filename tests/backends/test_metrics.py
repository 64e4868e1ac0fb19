from hypothesis import given
from hypothesis import strategies as st

from cachediag.backends.metrics import label, read_metrics, risen

TEXT = """\
# HELP vllm:prefix_cache_hits_total Tokens found.
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{model_name="a",x="with \\"quotes\\", and {braces}"} 1.5e+02
vllm:prefix_cache_hits_total{model_name="b"} 7 1795985377000
plain 3
build_info{version="0.9.13",model="m"} 1
nothing NaN
"""


def test_values_are_summed_over_labels():
    values = read_metrics(TEXT)
    assert values["vllm:prefix_cache_hits_total"] == 157
    assert (values["plain"], values["build_info"]) == (3, 1)
    assert "HELP" not in values


def test_a_label():
    assert label(TEXT, "build_info", "version") == "0.9.13"
    assert label(TEXT, "build_info", "el") is None
    assert label(TEXT, "other", "version") is None


def test_how_much_a_counter_rose():
    assert risen({"a": 2.0}, {"a": 5.0}, "a") == 3
    assert risen({}, {"a": 5.0}, "a") == 5
    assert risen({"a": 2.0}, {}, "a") is None
    assert risen({"a": 5.0}, {"a": 2.0}, "a") is None


@given(st.text())
def test_any_text_is_read(text):
    read_metrics(text)
    label(text, "a", "b")
