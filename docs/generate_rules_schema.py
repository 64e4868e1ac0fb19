"""Writes `rules.schema.json`, the JSON Schema of rule files, from the code that reads them.

Run by `nox -s docs`; a test fails while the committed file says something else.
"""

import json
from pathlib import Path

from cachediag.rules.format.schema import json_schema

__all__ = ["FILE", "schema"]

FILE = Path(__file__).with_name("rules.schema.json")


def schema() -> str:
    """The file as it should be."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(schema(), encoding="utf-8")
