"""The catalogue of findings: one page a code, read by `explain`, the reports and the docs.

A page is `CODE.md` beside this module: TOML front matter between two `+++` lines, then Markdown.
"""

from cachediag.findings.catalogue import Page, all_codes, load

__all__ = ["Page", "all_codes", "load"]
