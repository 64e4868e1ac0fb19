"""A real engine with a tiny model, made once and kept, started and stopped at will.

```python
from cachediag.backends.sandbox import Sandbox, running

with running(Sandbox(), "vllm-mlx", "0.3.0") as server:
    server.base_url, server.model, server.log
```

The first time, an environment of 400 MB is installed under the user's cache directory; releases and
models share it.
"""

from cachediag.backends.sandbox.engines import RELEASES, Engine
from cachediag.backends.sandbox.install import copy_of, python, site
from cachediag.backends.sandbox.model import KINDS, MODEL_SPEC, REPLY, Kind, model
from cachediag.backends.sandbox.place import Sandbox, Tell, sandbox_root
from cachediag.backends.sandbox.server import Running, running
from cachediag.backends.sandbox.state import State, state
from cachediag.backends.sandbox.strip import keep_billing_header

__all__ = [
    "KINDS",
    "MODEL_SPEC",
    "RELEASES",
    "REPLY",
    "Engine",
    "Kind",
    "Running",
    "Sandbox",
    "State",
    "Tell",
    "copy_of",
    "keep_billing_header",
    "model",
    "python",
    "running",
    "sandbox_root",
    "site",
    "state",
]
