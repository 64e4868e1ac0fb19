"""The session file, where recordings live, and what a collection of exchanges offers."""

from cachediag.session.delta import MAX_BODY
from cachediag.session.file import Recorder, Session
from cachediag.session.library import new_path, newest, recorded, register, resolve, sessions_dir
from cachediag.session.outgoing import Outgoing, sent_on
from cachediag.session.source import MemorySource, Source

__all__ = [
    "MAX_BODY",
    "MemorySource",
    "Outgoing",
    "Recorder",
    "Session",
    "Source",
    "new_path",
    "newest",
    "recorded",
    "register",
    "resolve",
    "sent_on",
    "sessions_dir",
]
