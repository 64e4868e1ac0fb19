"""Recording: the mitmproxy addon, running a proxy and a child command, importers, redaction.

Nothing is imported here, because mitmproxy takes most of a second and few callers need it.
"""

__all__: list[str] = []
