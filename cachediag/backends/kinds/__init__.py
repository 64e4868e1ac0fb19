"""The table of backends: one file each, in the order in which they are looked for."""

from cachediag.backends.kinds import (
    anthropic,
    claude_code_local,
    llama_cpp,
    lm_studio,
    mlx_lm,
    mlx_serve,
    mtplx,
    ollama,
    omlx,
    rapid_mlx,
    sglang,
    vllm,
    vllm_mlx,
)
from cachediag.backends.kinds.probe import (
    Accounting,
    Probe,
    Reading,
    Recognised,
    Responses,
    Sure,
)

__all__ = ["PROBES", "Accounting", "Probe", "Reading", "Recognised", "Responses", "Sure"]

PROBES: dict[str, Probe] = {
    probe.name: probe
    for probe in (
        # Those that share an API with another come before it.
        rapid_mlx.PROBE,
        vllm_mlx.PROBE,
        mlx_serve.PROBE,
        omlx.PROBE,
        mtplx.PROBE,
        llama_cpp.PROBE,
        vllm.PROBE,
        sglang.PROBE,
        claude_code_local.PROBE,
        ollama.PROBE,
        lm_studio.PROBE,
        mlx_lm.PROBE,
        anthropic.PROBE,
    )
}
