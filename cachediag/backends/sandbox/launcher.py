"""Starts an engine's server, and ends it when whoever started it is gone.

Run by the sandbox's interpreter as a script: `launcher.py ENGINE WORD…`. Standard input is a pipe
whose other end the starter holds: it closes in whatever way the starter ends, killed or not.
"""

import importlib
import os
import runpy
import sys
import threading

__all__: list[str] = []


def _end_with_starter() -> None:
    os.read(0, 1)
    os._exit(0)


def _main(engine: str, words: list[str]) -> None:
    threading.Thread(target=_end_with_starter, daemon=True).start()
    # The script's own directory comes first, and holds modules of other names than the engine's.
    del sys.path[0]
    if engine == "mlx-lm":
        sys.argv = ["mlx_lm", "server", *words]
        runpy.run_module("mlx_lm", run_name="__main__", alter_sys=True)
    else:
        sys.argv = ["vllm-mlx", "serve", *words]
        sys.exit(importlib.import_module("vllm_mlx.cli").main())


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2:])
