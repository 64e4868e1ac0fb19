"""Puts the findings' pages, which ship with the package, into the documentation."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from cachediag.findings import Page, all_codes, load

_GROUPS = {
    "V": "Volatile text in the prompt",
    "O": "Order",
    "S": "Structure",
    "E": "Encoding",
    "M": "Markers of hosted caches",
    "P": "Policy of the engine",
    "G": "Grammars: tools and schemas",
    "N": "Nothing wrong",
}
_SEVERITIES = {
    "break": "break: the shared prefix ends here though it could go on",
    "cost": "cost: costs tokens, time or money in another way",
    "info": "info: harmless",
}


def on_config(config: MkDocsConfig) -> None:
    """Add a page for each code to the navigation."""
    assert config.nav is not None
    for item in config.nav:
        if isinstance(item, dict) and "Findings" in item:
            item["Findings"] = ["findings/index.md", *(_uri(code) for code in all_codes())]


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Make the pages."""
    pages = [load(code) for code in all_codes()]
    files.append(File.generated(config, "findings/index.md", content=_index(pages)))
    for page in pages:
        files.append(File.generated(config, _uri(page.code), content=_page(page)))


def _uri(code: str) -> str:
    return f"findings/{code}.md"


def _page(page: Page) -> str:
    facts = [f"- {_SEVERITIES[page.severity]}"]
    if page.fix:
        facts.append(f"- fix: {page.fix}")
    if page.rule:
        facts.append("- `cachediag rules new` writes a rule that removes it")
    heading = f"---\ntitle: {page.code} {page.title}\n---\n\n# {page.code} {page.title}"
    return "\n\n".join([heading, "\n".join(facts), page.text])


def _index(pages: list[Page]) -> str:
    parts = [
        "# Findings",
        "What `cachediag diff`, `analyze` and `lint` can say, and what `cachediag explain CODE`"
        " says about it.",
    ]
    for letter, group in _GROUPS.items():
        rows = [
            f"| [{page.code}]({page.code}.md) | {page.title} | {page.severity} |"
            for page in pages
            if page.code.startswith(letter)
        ]
        if rows:
            parts.append(f"## {group}")
            parts.append("\n".join(["| code | finding | severity |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"
