"""What `cachediag lint` does with engines: measures costs, writes structural tags, probes."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from cachediag.cli.console import err, out, plain, say, write
from cachediag.cli.options import Format
from cachediag.errors import UsageError

if TYPE_CHECKING:
    from cachediag.analysis.tokenview import Counter
    from cachediag.lint.structural_tag import Syntax
    from cachediag.session.source import Source

__all__ = ["Written", "costs", "emit", "probe"]


@dataclass(frozen=True, slots=True)
class Written:
    """How the model at hand writes its calls, as far as the user says."""

    model: str | None = None
    """`--model`."""
    syntax: str | None = None
    """`--syntax`."""


def costs(
    opened: "Source", written: Written, counter: "Callable[[], Counter]", format_: Format
) -> None:
    """Measure what the schemas of a session cost to compile, and print it."""
    from cachediag.lint import collect
    from cachediag.lint.checks.changing import changes
    from cachediag.lint.grammar.costs import measure
    from cachediag.lint.structural_tag import SYNTAXES
    from cachediag.report import documents
    from cachediag.report.grammar import CostsReport
    from cachediag.report.grammar_documents import costs as document

    collected = collect(opened.exchanges())
    models = [each.model for each in collected.requests]
    with _telling() as tell:
        made = measure(
            collected,
            tokenizer=_tokenizer(written.model, models),
            syntax=_syntax(written, models) or SYNTAXES["hermes"],
            tell=tell,
        )
    changed = changes(opened, collected, counter)
    if format_ is Format.json:
        write(documents.dumps(document(made, collected, changed, session=opened.name)))
    else:
        out().print(CostsReport(made, collected, opened.name, changed))


def emit(opened: "Source", number: int, written: Written) -> None:
    """Write the structural tag for the tools of one request."""
    from cachediag.lint.grammar.costs import tool
    from cachediag.lint.schemas import collect
    from cachediag.lint.structural_tag import SYNTAXES, Tool
    from cachediag.lint.structural_tag import emit as made
    from cachediag.report import documents

    collected = collect([opened.exchange(number)])
    if not collected.requests:
        why = collected.problems.get(number, "it asks no model for anything")
        raise UsageError(
            f"request {number} has no tools: {why}",
            remedy="Choose another with --request; `cachediag show` lists them.",
        )
    (request,) = collected.requests
    syntax = _syntax(written, [request.model])
    if syntax is None:
        raise UsageError(
            f"how {written.model or request.model} writes a tool call is not known",
            remedy=f"Name it: --syntax {', '.join(SYNTAXES)}",
        )
    schemas = [collected.schemas[each] for each in request.tools]
    bare = {each.name for each in schemas}
    tools = [*map(tool, schemas), *(Tool(name) for _, name in request.names if name not in bare)]
    thinking = _thinks(opened, number, written.model)
    write(documents.dumps(made(tools, syntax, thinking=thinking)))


def probe(
    opened: "Source",
    backend: str,
    *,
    request_model: str | None,
    headers: dict[str, str],
    format_: Format,
) -> None:
    """Probe a live backend with the schemas of a session, and print what became of them."""
    from cachediag.lint import collect
    from cachediag.lint.live import probe as probed
    from cachediag.report import documents
    from cachediag.report.grammar import LiveReport
    from cachediag.report.grammar_documents import probed as document
    from cachediag.verify.naming import model_name

    url = backend.rstrip("/")
    _check_reach(url)
    schemas = collect(opened.exchanges()).schemas
    if not schemas:
        raise UsageError(
            "no request has a tool or a response format to probe with",
            where=opened.name,
            remedy="Give a session of a client that uses tools.",
        )
    model = request_model or model_name(url, {each.model for each in schemas})
    with _telling() as tell:
        made = probed(url, schemas, model=model, headers=headers, tell=tell)
    if format_ is Format.json:
        write(documents.dumps(document(made, schemas, session=opened.name, backend=url)))
    else:
        out().print(LiveReport(made, schemas, opened.name, url))
    if made.stopped:
        raise typer.Exit(3)
    if any(each.state != "answered" for each in made.probed):
        raise typer.Exit(1)


def _syntax(written: Written, recorded: Sequence[str | None]) -> "Syntax | None":
    from cachediag.lint.structural_tag import syntax, syntax_of

    if written.syntax is not None:
        return syntax(written.syntax)
    names = [written.model] if written.model else [name for name in recorded if name]
    return next((found for name in names if (found := syntax_of(name))), None)


def _tokenizer(model: str | None, recorded: Sequence[str | None]) -> str:
    """What the engine's tokenizer is read from.

    Of the recorded models one whose own tokenizer is here; a hosted model's is an estimate, which
    no engine has.
    """
    from cachediag.render.templates import DEFAULT
    from cachediag.tokens.tokenizers import tokenizer

    if model is not None:
        tokenizer(model)
        return model
    for name in dict.fromkeys(recorded):
        try:
            if name and tokenizer(name).exact:
                return name
        except UsageError:
            continue
    return DEFAULT


def _thinks(opened: "Source", number: int, model: str | None) -> bool:
    """Whether the prompt of a request ends within the thinking, as the model's template has it."""
    if model is None:
        return False
    from cachediag.protocol import parse
    from cachediag.render.profiles import profile
    from cachediag.render.templates import template

    exchange = opened.exchange(number)
    prompt = parse(exchange.request, exchange.info.endpoint)
    rendered = profile("generic", template(model)).render(prompt)
    return rendered.text.rstrip().endswith("<think>")


def _check_reach(url: str) -> None:
    from cachediag.verify.reach import reach

    whom = reach(url)
    if whom == "paid":
        raise UsageError(
            "a paid API is not probed: its schemas are compiled elsewhere, at a price",
            where=url,
            remedy="Give a server of your own: --backend http://127.0.0.1:8000",
        )
    if whom == "far":
        say(f"WARNING: the schemas go to {url}, outside your network.")


@contextmanager
def _telling() -> "Iterator[Callable[[str], None]]":
    """Say what is being done: in place on a terminal, now and then elsewhere."""
    console = err()
    if console.is_terminal:
        with console.status("") as status:
            yield lambda text: status.update(plain(text))
        return
    last = [float("-inf")]

    def tell(text: str) -> None:
        if time.monotonic() - last[0] > 5:
            last[0] = time.monotonic()
            say(text)

    yield tell
