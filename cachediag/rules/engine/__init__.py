"""Applying rules to the raw bytes of a request.

Only the standard library and `cachediag.protocol.jsontext` are used; exported scripts carry these
modules with a plain substitute for the latter.
"""

__all__: list[str] = []
