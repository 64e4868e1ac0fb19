import base64
import json
import tracemalloc

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cachediag.capture.masking import Secrets
from cachediag.capture.redact import (
    body_credentials,
    credentials,
    safe_headers,
    safe_path,
    safe_url,
    scrub,
)

SECRET = "9f8e7d6c5b4a3210ffee"


def test_headers_are_kept_by_allow_list():
    given_headers = [
        ("Content-Type", "application/json"),
        ("Anthropic-Beta", "tools-1"),
        ("anthropic-beta", "cache-2"),
        ("User-Agent", "claude-cli/2.1.113 (external, sdk-cli)"),
        ("X-Claude-Code-Session-Id", "5d2f"),
        ("x-claude-code-agent-id", "a1"),
        ("x-claude-code-access-token", SECRET),
        ("x-stainless-lang", "js"),
        ("x-stainless-os", "Linux"),
        ("anthropic-ratelimit-input-tokens-remaining", "1000"),
        ("anthropic-organization-id", "org"),
        ("x-api-key", SECRET),
        ("Authorization", f"Bearer {SECRET}"),
        ("cookie", f"session={SECRET}"),
        ("x-unheard-of", SECRET),
        ("host", "localhost"),
    ]
    assert safe_headers(given_headers) == {
        "content-type": "application/json",
        "anthropic-beta": "tools-1, cache-2",
        "user-agent": "claude-cli/2.1.113 (external, sdk-cli)",
        "x-claude-code-session-id": "5d2f",
        "x-claude-code-agent-id": "a1",
        "x-stainless-lang": "js",
        "anthropic-ratelimit-input-tokens-remaining": "1000",
    }


def test_a_kept_header_holds_no_credential():
    kept = safe_headers(
        [("user-agent", f"agent ({SECRET}) Bearer abcdefghijk")], [Secrets([SECRET])]
    )
    assert kept == {"user-agent": "agent (redacted) Bearer redacted"}


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/v1/messages", "/v1/messages"),
        ("/v1/messages?beta=true", "/v1/messages?beta=true"),
        ("/v1/messages?beta", "/v1/messages?beta"),
        (f"/v1/messages?beta=true&key={SECRET}", "/v1/messages?beta=true&key=redacted"),
        (f"/v1/messages?beta={SECRET}{SECRET}", "/v1/messages?beta=redacted"),
        (f"/v1/messages?beta=true;key={SECRET}", "/v1/messages?beta=redacted"),
        (f"/v1/messages?{SECRET}", "/v1/messages?redacted"),
        ("/c?api-version=2024-02-01-preview&x=", "/c?api-version=2024-02-01-preview&x=redacted"),
        (f"http://user:{SECRET}@host/v1?a={SECRET}#{SECRET}", "http://host/v1?a=redacted"),
        ("/gateway/sk-ant-api03-abcdefgh/v1/messages", "/gateway/redacted/v1/messages"),
        ("?", ""),
        ("", ""),
    ],
)
def test_paths(path, kept):
    assert safe_path(path) == kept


@given(st.text(alphabet="&=?;#/%+ab", max_size=30), st.text(alphabet="&=?;/%+ab", max_size=30))
def test_no_query_value_survives_where_it_is_not_allowed(before, after):
    target = f"/v1/messages?{before}&token={SECRET}{after}"
    assume("#" not in before)
    assert SECRET not in safe_path(target)


def test_urls_lose_their_userinfo():
    assert safe_url(f"https://me:{SECRET}@host:8000/api") == "https://host:8000/api"
    assert safe_url("http://127.0.0.1:8000") == "http://127.0.0.1:8000"
    assert safe_url("http://me:hunter2@[::1") == "http://[::1"
    assert safe_url(f"https://host/?key={SECRET}") == "https://host/?key=redacted"


BASIC = base64.b64encode(f"user:{SECRET}".encode()).decode()


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ([("x-api-key", SECRET)], {SECRET}),
        ([("Authorization", f"Bearer {SECRET}")], {SECRET, f"Bearer {SECRET}"}),
        (
            [("proxy-authorization", f"Basic {BASIC}")],
            {BASIC, f"Basic {BASIC}", SECRET, f"user:{SECRET}"},
        ),
        (
            [("authorization", "Basic not*base64*but*secret")],
            {"not*base64*but*secret", "Basic not*base64*but*secret"},
        ),
        (
            [("cookie", f'a={SECRET}; b=short; c="{SECRET}x"')],
            {SECRET, f"{SECRET}x", f'a={SECRET}; b=short; c="{SECRET}x"'},
        ),
        (
            [("set-cookie", f"id={SECRET}; Domain=.anthropic.com; Expires=Thu, 01 Jan 2026")],
            {SECRET},
        ),
        (
            [("x-goog-api-key", SECRET), ("cf-access-client-secret", SECRET + "2")],
            {SECRET, SECRET + "2"},
        ),
        ([("x-api-key", "lm-studio"), ("authorization", "Bearer dummy")], {"Bearer dummy"}),
        ([(":authority", "api.anthropic.com"), ("host", "api.anthropic.com")], set()),
        ([("anthropic-ratelimit-tokens-reset", "2026-11-29T17:00:00Z")], set()),
    ],
)
def test_credentials_in_headers(headers, found):
    assert set(credentials(headers, "/v1/messages")) == found


def test_credentials_in_the_target_and_longest_first():
    path = f"http://user:{SECRET}@host/v1?beta=true&key={SECRET}%2Blonger&api-version=2024-02-01-preview"
    found = credentials([], path)
    assert set(found) == {SECRET, f"user:{SECRET}", f"{SECRET}%2Blonger", f"{SECRET}+longer"}
    assert list(found) == sorted(found, key=len, reverse=True)


def test_credentials_in_fields_made_for_them():
    body = json.dumps(
        {
            "mcp_servers": [{"url": "https://x", "authorization_token": SECRET}],
            "tools": [{"type": "mcp", "headers": {"Authorization": f"Bearer {SECRET}2"}}],
            "messages": [{"role": "user", "content": '{"authorization": "only some text"}'}],
        }
    ).encode()
    assert set(body_credentials(body)) == {SECRET, f"{SECRET}2", f"Bearer {SECRET}2"}


def test_fields_that_only_begin_alike_cost_no_memory_however_long_they_are():
    long = "x" * 500_000 + "\\n" * 250_000
    body = f'{{"arguments":"{long}","api_key":"{SECRET}\\"{long}"}}'.encode()
    tracemalloc.start()
    found = body_credentials(body)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == (f'{SECRET}\\"{long}',)
    assert most < 10 * len(body)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"refused: {SECRET}!", "refused: redacted!"),
        ("invalid key sk-ant-api03-AbCd_efgh given", "invalid key redacted given"),
        ("Authorization: Bearer abc.def.ghi-123", "Authorization: Bearer redacted"),
        ("cannot reach http://me:pass@host:80/", "cannot reach http://host:80/"),
        ('{"api_key":"abcdef123456"}', '{"api_key":"redacted"}'),
        ("password=hunter2hunter", "password=redacted"),
        (
            "[Errno 111] Connect call failed ('127.0.0.1', 9)",
            "[Errno 111] Connect call failed ('127.0.0.1', 9)",
        ),
        ("12 tokens: too many", "12 tokens: too many"),
    ],
)
def test_scrub(text, clean):
    assert scrub(text, [Secrets([SECRET])]) == clean
