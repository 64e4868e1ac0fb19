import pytest

from cachediag.verify.reach import reach


@pytest.mark.parametrize(
    ("url", "whom"),
    [
        ("http://127.0.0.1:8000", "near"),
        ("http://[::1]:8000", "near"),
        ("http://192.168.1.20:8000/api", "near"),
        ("http://10.0.0.1", "near"),
        ("http://8.8.8.8:8000", "far"),
        ("https://api.anthropic.com", "paid"),
        ("https://API.OpenAI.com./v1", "paid"),
        ("https://openrouter.ai/api", "paid"),
        ("https://mine.openai.azure.com", "paid"),
    ],
)
def test_whom_an_address_reaches(url, whom):
    assert reach(url) == whom


def test_a_name_that_only_looks_like_a_vendors_is_none_of_theirs(monkeypatch):
    monkeypatch.setattr("cachediag.verify.reach.is_near", lambda _: True)
    assert reach("http://notopenai.com") == "near"
    assert reach("http://openai.com.lan") == "near"
