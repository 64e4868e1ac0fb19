"""A made-up client and a made-up model server that talk through the real recorder.

Nothing is imported here, because the recorder takes most of a second and only the demo needs it.
"""

__all__: list[str] = []
