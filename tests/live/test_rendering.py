"""Rendered prompts against the servers' own: the same characters, the same token ids.

Every body of the case collection, bodies that are hard to render, and what Claude Code and Qwen
Code really send are put to vllm-mlx's own HTTP application and engine, and to the method of
mlx-lm's server that makes tokens of a request, with the tokenizers and chat templates of real
models. The Qwen templates are rendered by the renderer of their own here, the others through Jinja.
"""

import json
import tomllib
from array import array
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest

from cachediag.errors import InputError
from cachediag.heads import common_head
from cachediag.model import Endpoint, Prompt
from cachediag.protocol import Parser
from cachediag.render import Profile, Rendered, profile, template
from cachediag.render.templates.jinja import Jinja
from cachediag.render.templates.qwen import Qwen3, Qwen25
from cachediag.tokens.encoder import Encoder
from cachediag.tokens.tokenizers import tokenizer
from tests.live.rendering_bodies import hard_bodies
from tests.live.rendering_clients import claude_code_cases, qwen_code_cases
from tests.live.rendering_engines import Answer, Case, Run, answers
from tests.live.tokenizer_files import model_files

FIXTURES = Path(__file__).parents[2] / "fixtures" / "cases"
PATHS: dict[Endpoint, str] = {"messages": "/v1/messages", "chat": "/v1/chat/completions"}
ENDPOINTS = {path: endpoint for endpoint, path in PATHS.items()}
QWEN = {"qwen2_5": "qwen2.5", "qwen3": "qwen3"}
OWN = ("llama3_1", "gemma3", "deepseek_v3")
AROUND = 60
"""Characters that are shown to each side of a difference."""


def fixture_cases() -> list[Case]:
    """Every body of the case collection that goes to one of the two endpoints."""
    return [
        Case(f"{folder.name}/{file.stem}", PATHS[endpoint], file.read_bytes())
        for folder in sorted(FIXTURES.iterdir())
        if (endpoint := tomllib.loads((folder / "case.toml").read_text())["endpoint"]) in PATHS
        for file in sorted(folder.glob("[a-z].json"))
    ]


@pytest.fixture(scope="module")
def hard() -> list[Case]:
    return [Case(f"hard-{n}", path, body) for n, (path, body) in enumerate(hard_bodies(150))]


@pytest.fixture(scope="module")
def cases(hard: list[Case], tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    recorded = claude_code_cases("2.1.113", tmp_path_factory.mktemp("claude"))
    recorded += qwen_code_cases(tmp_path_factory.mktemp("qwen"))
    return [*fixture_cases(), *hard, *recorded]


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return [Run(model_files(model), parser) for model in QWEN for parser in (None, "hermes")]


class Prompts:
    """Renders cases as one session: profile, parser and encoder are kept, as an analysis does."""

    def __init__(self, name: str, model: str) -> None:
        self.profile: Profile = profile(name, template(model))
        self._parser = Parser()

    def request(self, case: Case) -> Prompt:
        return self._parser.parse(case.body, ENDPOINTS[case.path])

    def rendered(self, case: Case) -> Rendered:
        return self.profile.render(self.request(case))


def vllm_mlx_profile(release: str, run: Run) -> str:
    return f"vllm-mlx@{release}{':tools=native' if run.parser else ''}"


def hold(answer: Answer, rendered: Rendered) -> None:
    """Fail where the prompts differ, and show the place."""
    assert answer.prompt is not None, f"{answer.case.name}: {answer.said}"
    ours, theirs = rendered.text, answer.prompt
    if ours == theirs:
        return
    end = min(len(ours), len(theirs))
    at = next((n for n in range(end) if ours[n] != theirs[n]), end)
    shown = [text[max(at - AROUND, 0) : at + AROUND] for text in (ours, theirs)]
    pytest.fail(f"{answer.case.name}, {answer.run}, character {at}: {shown[0]!r} is {shown[1]!r}")


def hold_but_for_an_insertion(answer: Answer, rendered: Rendered) -> None:
    """Fail unless what is said to be left out is all that is: one instruction of the server's own.

    From 0.6.0 a server without llguidance refuses such a request.
    """
    assert not rendered.exact
    ours, theirs = rendered.text, answer.prompt
    if theirs is None:
        assert "response_format is unavailable" in answer.said
        return
    at = common_head(ours, theirs)
    assert len(theirs) > len(ours), answer.case.name
    assert theirs.endswith(ours[at:]), answer.case.name


def digest(ids: list[int]) -> str:
    return sha256(array("I", ids)).hexdigest()


@pytest.mark.parametrize("release", ["0.3.0", "0.6.0"])
def test_vllm_mlx_is_given_these_characters_and_tokens(
    release: str, runs: list[Run], cases: list[Case]
) -> None:
    told = answers("vllm-mlx", release, runs, cases)
    assert len(told) == len(runs) * len(cases) > 2000
    assert sum("claude-code" in case.name for case in cases) >= 6
    assert sum("qwen-code" in case.name for case in cases) >= 2
    for run in runs:
        name = QWEN[run.model.parent.name.removeprefix("tokenizer-")]
        prompts = Prompts(vllm_mlx_profile(release, run), name)
        encoder = Encoder(tokenizer(name))
        for answer in (each for each in told if each.run == run):
            rendered = prompts.rendered(answer.case)
            if any("response_format" in note for note in rendered.notes):
                hold_but_for_an_insertion(answer, rendered)
                continue
            hold(answer, rendered)
            assert rendered.exact
            assert "".join(piece.text for piece in rendered.pieces) == rendered.text
            sequence = encoder.sequence(rendered.texts)
            assert (len(sequence), digest(list(sequence))) == (answer.tokens, answer.ids)


@pytest.mark.parametrize("release", ["0.31.3", "0.32.2"])
def test_mlx_lm_is_given_these_characters_and_tokens(release: str, cases: list[Case]) -> None:
    chat = [case for case in cases if ENDPOINTS[case.path] == "chat"]
    runs = [Run(model_files(model), None) for model in QWEN]
    told = answers("mlx-lm", release, runs, chat)
    # It takes text alone, and refuses arguments that are no JSON.
    refused = [each for each in told if each.prompt is None]
    assert {each.said.partition(":")[0] for each in refused} <= {"ValueError", "JSONDecodeError"}
    assert len(told) - len(refused) > 100
    for run in runs:
        name = QWEN[run.model.parent.name.removeprefix("tokenizer-")]
        prompts, encoder = Prompts(f"mlx-lm@{release}", name), Encoder(tokenizer(name))
        for answer in (each for each in told if each.run == run and each.prompt is not None):
            rendered = prompts.rendered(answer.case)
            hold(answer, rendered)
            assert rendered.exact
            sequence = encoder.sequence(rendered.texts)
            assert (len(sequence), digest(list(sequence))) == (answer.tokens, answer.ids)


def test_templates_that_are_known_as_jinja_alone(hard: list[Case]) -> None:
    runs = [Run(model_files(model), parser) for model in OWN for parser in (None, "hermes")]
    told, agreed = answers("vllm-mlx", "0.6.0", runs, hard), Counter[str]()
    for run in runs:
        prompts = Prompts(vllm_mlx_profile("0.6.0", run), str(run.model))
        assert isinstance(template(str(run.model)), Jinja)
        for answer in (each for each in told if each.run == run):
            try:
                rendered = prompts.rendered(answer.case)
            except InputError:
                # Gemma's template refuses roles that do not alternate, DeepSeek's lists of parts.
                assert answer.prompt is None, answer.case.name
                continue
            hold(answer, rendered)
            assert rendered.exact
            assert "".join(piece.text for piece in rendered.pieces) == rendered.text
            agreed[run.model.parent.name] += 1
    assert min(agreed.values()) > 50
    assert len(agreed) == len(OWN)


@pytest.mark.parametrize(("model", "own"), [("qwen2_5", Qwen25), ("qwen3", Qwen3)])
def test_the_real_template_prints_what_its_renderer_here_prints(
    model: str, own: type[Qwen25 | Qwen3], hard: list[Case]
) -> None:
    files = model_files(model)
    assert isinstance(template(str(files)), own), "the directory's template is not recognised"
    config = json.loads((files / "tokenizer_config.json").read_text(encoding="utf-8"))
    real = Jinja(model, {"default": config["chat_template"]}, {})
    for name in ("vllm-mlx:tools=native", "generic"):
        ours, theirs = Prompts(name, QWEN[model]), profile(name, real)
        for case in [*fixture_cases(), *hard]:
            a, b = ours.rendered(case), theirs.render(ours.request(case))
            assert a.text == b.text, case.name
            assert (a.prefix, a.last_user) == (b.prefix, b.last_user), case.name
