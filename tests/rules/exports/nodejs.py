"""Where Node.js is."""

import shutil

__all__ = ["NODE"]

NODE = shutil.which("node")
