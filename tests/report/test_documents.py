import json

from cachediag.report import documents
from tests.analysis.sessions import main, recorded, title, walked
from tests.compare.bodies import HEADER, body, held

FINDING = [
    "code",
    "severity",
    "confidence",
    "path",
    "byte",
    "before",
    "after",
    "tokens_lost",
    "message",
    "fix",
]


def test_diff_is_the_contract():
    b = body()
    b["system"][0]["text"] = HEADER.format("1c8b4")
    made = documents.diff(held(body(), b))
    assert list(made) == [
        "schema",
        "profile",
        "model",
        "bytes",
        "prompt_tokens",
        "calibrated_usages",
        "shared_tokens",
        "reusable_tokens",
        "shared_blocks",
        "reusable_blocks",
        "blocks",
        "other_fields",
        "findings",
    ]
    assert made["schema"] == "cachediag.diff/1"
    assert made["profile"] == "anthropic"
    assert made["model"] == "claude-made-up"
    assert made["prompt_tokens"] == {"a": None, "b": None, "exact": None}
    assert made["shared_tokens"] is None
    assert made["reusable_tokens"] is None
    assert made["blocks"] == {"a": 11, "b": 11}
    assert made["shared_blocks"] == 3
    assert made["reusable_blocks"] == 11
    assert made["bytes"]["path"] == "system[0].text"
    (found,) = made["findings"]
    assert list(found) == FINDING
    assert found["code"] == "V01"
    assert found["before"].endswith("cch=6c09a;")
    assert found["after"].endswith("cch=1c8b4;")
    assert found["tokens_lost"] is None


def test_diffs_holds_a_pair_for_each_request():
    found = walked(recorded([title("x"), main(), main("t1", header="aaaa1")]))
    made = documents.diffs("s", map(documents.pair, found))
    assert made["schema"] == "cachediag.diffs/1"
    assert [(p["request"], p["lane"], p["kind"], p["parent"]) for p in made["pairs"]] == [
        (0, "title", "auxiliary", None),
        (1, "main", "turn", None),
        (2, "main", "turn", 1),
    ]
    assert [f["code"] for f in made["pairs"][2]["findings"]] == ["V01", "N01"]
    assert made["pairs"][2]["shared_blocks"] == 3
    assert made["pairs"][0]["problem"] is None


def test_a_document_is_ascii_whatever_was_captured():
    b = body()
    b["system"][1]["text"] = "\x1b[2J\ud800\u202e"
    text = documents.dumps(documents.diff(held(body(), b)))
    assert text.isascii()
    assert "\x1b" not in text
    assert json.loads(text)["schema"] == "cachediag.diff/1"
