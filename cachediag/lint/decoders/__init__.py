"""How each decoder reads a schema: one file a decoder.

A new one is a module with a class that has `read` (see `Reader`), a table beside the others in
`lint/support/`, and a line in `READERS`.
"""

from typing import Final

from cachediag.lint.decoders.llguidance import Llguidance
from cachediag.lint.decoders.lm_format_enforcer import LmFormatEnforcer
from cachediag.lint.decoders.outlines import Outlines
from cachediag.lint.decoders.reading import Reader
from cachediag.lint.decoders.xgrammar import Xgrammar

__all__ = ["READERS", "Reader"]

READERS: Final[dict[str, type[Reader]]] = {
    "xgrammar": Xgrammar,
    "llguidance": Llguidance,
    "lm-format-enforcer": LmFormatEnforcer,
    "outlines": Outlines,
}
"""In the order in which they are reported."""
