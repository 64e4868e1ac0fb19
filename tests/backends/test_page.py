"""`docs/backends.md` has a section for each backend, with a source that its module names."""

import re
import sys
from pathlib import Path

from cachediag.backends import PROBES

PAGE = (Path(__file__).parents[2] / "docs" / "backends.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([\w.-]+)\n\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL))


def test_each_backend_has_a_section_and_a_row():
    assert set(SECTIONS) == set(PROBES)
    assert set(re.findall(r"^\| \[([\w.-]+)\]", PAGE, re.MULTILINE)) == set(PROBES)


def test_each_section_names_a_source_of_its_module():
    for name, text in SECTIONS.items():
        (source,) = re.findall(r"\[Source\]\((.*?)\)", text)
        module = "cachediag.backends.kinds." + re.sub(r"\W", "_", name)
        assert source in (sys.modules[module].__doc__ or ""), name
